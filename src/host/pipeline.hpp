// One pipeline as one thread runs it: scan, filters, probes, sink, batch by batch.
//
// After every filter the batch holds only the rows that passed; after every probe only those that met a partner, with
// the partner's entry. A row with several partners is repeated; where that would overflow the batch, the steps behind
// the probe run several times. Of a semi or anti join only the rows that have, or have not, a partner are kept; of a left
// join a row without a partner goes on with no_entry; the entries of a right or full join that are partners are noted. Where such a join has filters of its own, pairs of a row and an
// entry are made like the rows of an inner join, and what is left of them after the filters are the row's partners. A filter that most rows pass does not shrink the batch by itself: its result is kept and
// combined with that of the next, which reads whole columns instead of gathering the rows that are left. Entries
// of a table are carried along only as far as somebody reads its payload.
#pragma once

#include <atomic>
#include <functional>

#include "host/evaluator.hpp"

namespace gpuscan::host {

class PipelineRunner {
  public:
    using Sink = std::function<void(const Batch &, Evaluator &)>;

    PipelineRunner(const Context &context, ir::Index pipeline, const std::atomic<uint32_t> *cancel, Sink sink);

    // Rows [begin, end) of a chunk.
    void run(const ChunkView &chunk, uint32_t begin, uint32_t end);

    uint64_t rows_in() const { return rows_in_; }
    uint64_t rows_out() const { return rows_out_; }

  private:
    struct Filter {
        ir::Index expr;
        bool safe; // cannot raise an error, so it may look at rows that an earlier filter drops
    };
    // What happens from one join to the next.
    struct Step {
        std::vector<Filter> filters; // right after the step's join (step 0: after the scan)
        Batch batch;
        BatchStorage storage;
        // The probe of the join that follows, kept while its matches are handed on.
        std::unique_ptr<uint32_t[]> positions, entries, counts;
        // If that join is not an inner one: which rows have a partner; and pairs that its filters look at.
        std::unique_ptr<uint8_t[]> matched_rows;
        Batch pairs;
        BatchStorage pair_storage;
        std::unique_ptr<uint32_t[]> pair_positions, pair_entries;
    };

    void fill(const ChunkView &chunk, uint32_t begin, uint32_t end);
    void proceed(size_t step);
    bool filter(Step &step);
    bool shrink(Step &step, const uint8_t *truth, const uint8_t *nulls);
    void probe(size_t step);
    void hand_on_matches(size_t step, const JoinTable &table, uint32_t matched);
    void hand_on_chosen(size_t step, bool matched);
    void hand_on_without_partner(size_t step);
    template <class Task> void each_pair(size_t step, const JoinTable &table, uint32_t matched, Task task);
    uint32_t filter_pairs(size_t step, const ir::Join &join, const uint32_t *positions, const uint32_t *entries,
                          uint32_t n);
    void hand_on(size_t step, const uint32_t *positions, const uint32_t *entries, uint32_t n);
    void note_partners(size_t step, const JoinTable &table, uint32_t matched, uint8_t *matched_rows);
    void check_cancel() const;

    const Context &context_;
    const ir::Pipeline &pipeline_;
    const std::atomic<uint32_t> *cancel_;
    Sink sink_;
    Evaluator evaluator_;
    const Kernels &k_ = kernels();
    std::vector<Step> steps_;
    std::vector<size_t> last_use_; // of each join's payload: the last step that reads it, 0 = none
    std::unique_ptr<uint32_t[]> selected_{new uint32_t[batch_rows + batch_slack]};
    std::unique_ptr<uint32_t[]> expanded_positions_{new uint32_t[batch_rows + batch_slack]};
    std::unique_ptr<uint32_t[]> expanded_entries_{new uint32_t[batch_rows + batch_slack]};
    std::unique_ptr<uint8_t[]> pending_{new uint8_t[batch_rows + batch_slack]};
    ProbeScratch scratch_;
    uint64_t rows_in_ = 0, rows_out_ = 0;
};

} // namespace gpuscan::host
