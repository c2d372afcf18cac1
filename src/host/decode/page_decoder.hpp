// Taking heap pages apart, on one thread. See page_decoder.cpp.
#pragma once

#include <vector>

#include "device/heap_page.cuh"
#include "host/decode/decode_plan.hpp"
#include "host/decode/text_codes.hpp"

namespace gpuscan {

class PageDecoder {
  public:
    static constexpr uint32_t max_attributes = 2048; // of a tuple: 11 bits

    // For a job with so many columns; `walks` (plan_walks()) lives longer.
    PageDecoder(const std::vector<AttributeWalk> &walks, size_t columns);

    // How many pages decode() takes at most.
    size_t max_pages() const;
    // Writes the rows of each page into the columns, all of them NULL where a page fails, and a status for each.
    void decode(const PageRef *refs, size_t count, PageStatus *statuses);

    std::vector<ColumnStats> stats; // by column of the job, of all pages so far
    bool dictionary_full = false;

  private:
    // The tuples of the present page, and where each of them has been walked to.
    struct Tuples {
        uint32_t count;                           // those from here on are of no interest: the first of them has failed
        uint32_t base[heap::max_line_pointers];   // in the page
        uint32_t length[heap::max_line_pointers]; // of the attributes' bytes
        uint32_t nulls[heap::max_line_pointers];  // see heap::Tuple
        uint32_t bitmap[heap::max_line_pointers]; // the same, but there is one even if nothing is NULL
        uint32_t attributes[heap::max_line_pointers];
        uint32_t offset[heap::max_line_pointers];  // from the base, of the attribute that is next
        uint32_t stepped[heap::max_line_pointers]; // offsets that are not yet known to be right
        uint32_t min_attributes;
        uint64_t any_null[max_attributes / 64]; // bits: is the attribute, if all tuples have it, NULL in any of them?
    };
    // The values of one attribute that are there: of the tuples in their order.
    struct Found {
        uint32_t count;
        bool all; // value i is tuple i's
        uint32_t tuple[heap::max_line_pointers];
        uint32_t at[heap::max_line_pointers];
        uint32_t length[heap::max_line_pointers];
    };

    PageStatus decode_page(const PageRef &ref);
    void open_tuples(const PageRef &ref);
    void fail(uint32_t tuple, PageStatus status);
    template <class Is> void fail_first(Is is);

    void go_through(const AttributeWalk &walk, TextCodes *texts);
    void find_column(const AttributeWalk &walk, const DecodeColumn &column, uint32_t constant, uint32_t next);
    void drop_failed();
    void pass_over(const AttributeWalk &walk, uint32_t attributes, uint32_t wanted_number);
    bool any_null(uint32_t attribute) const;
    bool any_null(uint32_t first, uint32_t behind) const;
    void step_over(const Skip &skip);
    void find_at(uint32_t offset, uint32_t bytes);
    void find_next(const AttributeLayout &attribute);
    bool step_over_short(uint32_t varlenas);
    bool find_short_varlena();
    template <bool wanted> void find(const AttributeLayout &attribute, uint32_t number, uint32_t wanted_number);
    template <bool wanted> void find_sparse(const AttributeLayout &attribute, uint32_t number);
    template <bool wanted> bool find_sparse_short(uint32_t number);
    template <bool wanted> void find_any(const AttributeLayout &attribute, uint32_t number, uint32_t wanted_number);

    void put_values(const DecodeColumn &column, TextCodes &texts);
    template <class Put> void each_row(Put put);
    template <class T, class Make> void put_integers(const DecodeColumn &column, Make make);
    template <class Word> void put_floats(const DecodeColumn &column);
    template <class Read> void put_wide(const DecodeColumn &column, Read read);
    void put_scales(const DecodeColumn &column);
    template <class T> void put_numerics(const DecodeColumn &column);
    void put_texts(const DecodeColumn &column, TextCodes &texts);
    void put_absent(const DecodeColumn &column);
    void put_missing(const DecodeColumn &column, uint32_t row);
    uint32_t found_tuple(uint32_t value) const { return found_.all ? value : found_.tuple[value]; }
    uint32_t row(uint32_t value) const { return row_start_ + found_tuple(value); }
    void clear(const PageRef &ref);
    void number_texts(const PageRef *refs, size_t count, PageStatus *statuses);

    const std::vector<AttributeWalk> &walks_;
    std::vector<TextCodes> texts_; // by column, in the order of the walks
    bool any_text_ = false;
    uint32_t last_attribute_ = 0;
    uint8_t *copies_ = nullptr;     // of the pages that decode() takes
    const uint8_t *page_ = nullptr; // the present one
    uint32_t no_nulls_ = 0;         // from the page: where a bitmap of ones stands
    uint32_t page_number_ = 0;
    uint32_t row_start_ = 0;
    PageStatus status_ = PageStatus::Ok;
    Tuples tuples_;
    Found found_;
};

} // namespace gpuscan
