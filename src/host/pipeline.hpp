// One pipeline as one thread runs it: scan, filters, probes, sink, batch by batch.
//
// After the filters the batch holds only the rows that passed; after every probe only those that met a partner, with the partner's
// entry. A row with several partners is repeated; where that would overflow the batch, the steps behind the probe run several
// times. Of a semi or anti join only the rows that have, or have not, a partner are kept; of a left join a row without a partner
// goes on with no_entry; the entries of a right or full join that are partners are noted. Where such a join has filters of its
// own, pairs of a row and an entry are made like the rows of an inner join, and what is left of them after the filters are the
// row's partners. Entries of a table are carried along only as far as somebody reads its payload.
//
// To shrink a batch makes gathers of all later reads. So where most rows are left, the batch stays whole, and one byte a row says
// which take part (pending_): filters that cannot raise an error are combined in it, the chunk's row mask is the first of them, and
// an inner join may look up whole columns of keys.
#pragma once

#include <atomic>
#include <functional>

#include "engine/ir/interval_condition.hpp"
#include "host/evaluator.hpp"

namespace gpuscan::host {

class PipelineRunner {
  public:
    using Sink = std::function<void(const Batch &, Evaluator &)>;

    PipelineRunner(const Context &context, ir::Index pipeline, const std::atomic<uint32_t> *cancel, Sink sink);

    // Rows [begin, end) of a chunk, with a part of their partners: a row with many keeps one thread busy, so threads that have nothing
    // else to do take the same rows. All of them probe; each goes on with its part of what the last join that multiplies rows finds.
    void run(const ChunkView &chunk, uint32_t begin, uint32_t end, uint32_t part = 0, uint32_t parts = 1);

    // Which of a pipeline's joins is the last that may multiply rows; ir::none: there is none.
    static ir::Index last_multiplier(const Context &context, const ir::Pipeline &pipeline);

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
        bool probes_all = false;     // the join that follows may look at rows that have been dropped
        Batch batch;
        bool pending = false; // not all rows of the batch take part: pending_ has those that do
        BatchStorage storage;
        // The probe of the join that follows, kept while its matches are handed on.
        std::unique_ptr<uint32_t[]> positions, entries, counts;
        IntervalCondition interval; // that it asks
        // If that join is not an inner one: which rows have a partner; and pairs that its filters look at.
        std::unique_ptr<uint8_t[]> matched_rows;
        Batch pairs;
        BatchStorage pair_storage;
        std::unique_ptr<uint32_t[]> pair_positions, pair_entries;
    };

    uint32_t fill(const ChunkView &chunk, uint32_t begin, uint32_t end);
    bool are_many(const Step &step, size_t part, size_t of) const;
    void proceed(size_t step);
    bool filter(Step &step);
    bool shrink(Step &step);
    void probe(size_t step);
    uint32_t narrow(const Step &step, const JoinTable &table, uint32_t matched);
    uint32_t drop_others(Step &step, bool unique, uint32_t matched) const;
    void hand_on_matches(size_t step, const JoinTable &table, uint32_t matched);
    void hand_on_chosen(size_t step, bool matched);
    void hand_on_without_partner(size_t step);
    template <class Task> void each_pair(size_t step, const JoinTable &table, uint32_t matched, Task task);
    uint32_t filter_pairs(size_t step, const ir::Join &join, const uint32_t *positions, const uint32_t *entries,
                          uint32_t n);
    void hand_on(size_t step, const uint32_t *positions, const uint32_t *entries, uint32_t n);
    bool takes_next_pairs(size_t step);
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
    const ir::Index last_multiplier_; // a step
    uint32_t part_ = 0, parts_ = 1;
    uint64_t batches_of_pairs_ = 0; // that it has found
    uint64_t rows_in_ = 0, rows_out_ = 0;
};

} // namespace gpuscan::host
