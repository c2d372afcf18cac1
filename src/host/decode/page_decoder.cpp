// One heap page after the other becomes columns.
//
// A page is first copied (it may change while it is read; what was checked must be what is used), then it is gone through attribute
// by attribute, not tuple by tuple: one loop finds where the attribute lies in all of the page's tuples, the next one turns
// the bytes there into values. A tuple's attributes must be found one after the other, each where the one before it ends, but
// tuples have nothing to do with one another, so in such a loop the processor has many of them under way (Boncz, Zukowski, Nes:
// "MonetDB/X100: hyper-pipelining query execution", CIDR 2005), and nothing is decided per value that is the same for the column.
//
//     open    line pointers -> where each tuple's attributes start and end, and which attributes are NULL in any tuple
//     plain   an attribute that is NULL in none: those before the first one of varying length lie at constant offsets; several of fixed
//             length are stepped over at once; a varlena is expected to have a short header, and whether all had one is looked
//             at once, behind the loop: if not, the attribute is gone through again
//     sparse  one that is NULL in some tuples, and for which none is too short: the same without a branch, each tuple steps on by its length or 0
//     any     what a tuple lacks (ALTER TABLE ADD COLUMN), and what has long headers: tuple by tuple by the rules of heap_page.cuh
//     values  see above; texts that are new wait for the dictionary (text_codes.hpp)
//
// Which status a page gets is what a walk tuple by tuple would say (the CUDA device does that): that of the first tuple that
// fails, and of that the first attribute. So when a tuple fails, those behind it are not looked at any more, by no
// attribute; a later attribute can only fail in a tuple before it, and then has the last word.
//
// Reads stay in the copies: an offset is used for more than one byte behind it only when it is known to lie in the tuple. The
// exceptions, whose bytes are ignored where they lie outside, find room behind the last copy: first bytes of some varlenas, each of
// which leads on by at most 127, the words of short texts and numerics, and those of NULL bitmaps.
#include "host/decode/page_decoder.hpp"

#include <algorithm>
#include <cstring>
#include <limits>

#include "engine/device.hpp"
#include "host/kernels/kernels.hpp"
#include "host/kernels/small_numeric.hpp"

namespace gpuscan {
namespace {

constexpr size_t text_pages = 32; // whose texts are numbered together
constexpr size_t alignment = 64;
constexpr size_t bitmap_bytes = PageDecoder::max_attributes / 8;
constexpr size_t slack = max_skipped * 128 + 64; // bytes behind the last copy that may be read
static_assert(slack >= bitmap_bytes, "a bitmap at a page's end is read by words");
static_assert(heap::max_line_pointers == max_tuples_per_page, "each tuple has its place");

void note(ColumnStats &stats, int64_t value) {
    stats.any_value = true;
    stats.min = std::min(stats.min, value);
    stats.max = std::max(stats.max, value);
}

void note_wide(ColumnStats &stats, int128 value) {
    if (value == static_cast<int64_t>(value))
        return note(stats, static_cast<int64_t>(value));
    stats.any_value = true;
    stats.any_wide = true;
}

// Room that a thread keeps: jobs are many and short, and taking it anew would take as long as filling it.
uint8_t *thread_memory(size_t bytes) {
    thread_local std::vector<uint8_t> memory;
    if (memory.size() < alignment + bytes)
        memory = std::vector<uint8_t>(alignment + bytes);
    return memory.data() + (alignment - reinterpret_cast<uintptr_t>(memory.data()) % alignment) % alignment;
}

template <class T> T load(const uint8_t *from) {
    T value;
    memcpy(&value, from, sizeof value);
    return value;
}

template <class T> void store(uint8_t *values, uint32_t row, T value) {
    memcpy(values + size_t(row) * sizeof value, &value, sizeof value);
}

} // namespace

PageDecoder::PageDecoder(const std::vector<AttributeWalk> &walks, size_t columns) : stats(columns), walks_(walks) {
    for (const AttributeWalk &walk : walks)
        for (const DecodeColumn &column : walk.columns) {
            texts_.emplace_back(column.dictionary);
            any_text_ |= column.dictionary != nullptr;
            last_attribute_ = std::max(last_attribute_, column.attribute);
        }
    if (last_attribute_ >= max_attributes)
        throw DeviceError("a column behind the last that a tuple can have");
}

size_t PageDecoder::max_pages() const { return any_text_ ? text_pages : 1; }

void PageDecoder::decode(const PageRef *refs, size_t count, PageStatus *statuses) {
    std::vector<size_t> waiting(texts_.size());
    copies_ = thread_memory(max_pages() * page_size + slack + bitmap_bytes);
    uint8_t *const no_nulls = copies_ + max_pages() * page_size + slack;
    memset(no_nulls, 0xff, bitmap_bytes);
    for (page_number_ = 0; page_number_ < count; ++page_number_) {
        const PageRef &ref = refs[page_number_];
        for (size_t i = 0; i < texts_.size(); ++i)
            waiting[i] = texts_[i].waiting();
        uint8_t *const copy = copies_ + page_number_ * page_size;
        memcpy(copy, ref.page, page_size);
        page_ = copy;
        no_nulls_ = static_cast<uint32_t>(no_nulls - copy);
        statuses[page_number_] = decode_page(ref);
        if (statuses[page_number_] == PageStatus::Ok)
            continue;
        clear(ref);
        for (size_t i = 0; i < texts_.size(); ++i)
            texts_[i].forget(waiting[i]);
    }
    if (any_text_)
        number_texts(refs, count, statuses);
}

void PageDecoder::number_texts(const PageRef *refs, size_t count, PageStatus *statuses) {
    bool refused = false;
    size_t i = 0;
    for (const AttributeWalk &walk : walks_)
        for (const DecodeColumn &column : walk.columns)
            texts_[i++].number([&](TextCodes::Row row, uint32_t code) {
                if (code == Dictionary::full) {
                    refused = true;
                    statuses[row.page] = PageStatus::Unrepresentable;
                    return;
                }
                store(column.values, row.row, code);
                column.nulls[row.row] = 0;
                note(stats[column.job_index], code);
            });
    if (!refused)
        return;
    dictionary_full = true;
    for (size_t page = 0; page < count; ++page)
        if (statuses[page] == PageStatus::Unrepresentable)
            clear(refs[page]);
}

void PageDecoder::clear(const PageRef &ref) {
    for (const AttributeWalk &walk : walks_)
        for (const DecodeColumn &c : walk.columns) {
            const size_t width = type_width(c.layout->type);
            memset(c.values + ref.row_start * width, 0, ref.ntuples * width);
            memset(c.nulls + ref.row_start, 1, ref.ntuples);
        }
}

PageStatus PageDecoder::decode_page(const PageRef &ref) {
    status_ = PageStatus::Ok;
    row_start_ = ref.row_start;
    open_tuples(ref);
    TextCodes *texts = texts_.data();
    for (const AttributeWalk &walk : walks_) {
        go_through(walk, texts);
        texts += walk.columns.size();
    }
    return status_;
}

// The tuple and those behind it are given up.
void PageDecoder::fail(uint32_t tuple, PageStatus status) {
    tuples_.count = tuple;
    status_ = status;
}

void PageDecoder::open_tuples(const PageRef &ref) {
    const uint32_t pointers = heap::line_pointer_count(page_),
                   most = std::min<uint32_t>(ref.ntuples, max_tuples_per_page);
    Tuples &t = tuples_;
    const uint32_t words = last_attribute_ / 64 + 1;
    uint32_t n = 0, fewest = UINT32_MAX;
    bool broken = false;
    std::fill_n(t.any_null, words, 0);
    auto open = [&](heap::LinePointer pointer) {
        heap::Tuple tuple;
        if (n == most || !heap::open_tuple(page_, pointer, tuple)) {
            broken = true;
            return;
        }
        t.base[n] = tuple.base;
        t.length[n] = tuple.limit - tuple.base;
        t.nulls[n] = tuple.nulls;
        t.bitmap[n] = tuple.nulls != 0 ? tuple.nulls : no_nulls_;
        t.attributes[n] = tuple.attributes;
        fewest = std::min(fewest, tuple.attributes);
        // (Bits behind the tuple's last attribute mean nothing: only attributes that all tuples have are asked for.)
        if (tuple.nulls != 0)
            for (uint32_t word = 0; word < words; ++word)
                t.any_null[word] |= ~load<uint64_t>(page_ + tuple.nulls + word * 8);
        ++n;
    };
    if (ref.mask == nullptr) {
        for (uint32_t i = 0; i < pointers && !broken; ++i) {
            const heap::LinePointer pointer = heap::line_pointer(page_, i);
            if (pointer.flags == heap::lp_normal)
                open(pointer);
        }
    } else {
        for (uint32_t word = 0; word < 5 && !broken; ++word)
            for (uint64_t bits = ref.mask->bits[word]; bits != 0 && !broken; bits &= bits - 1) {
                const uint32_t i = word * 64 + static_cast<uint32_t>(__builtin_ctzll(bits));
                if (i < pointers)
                    open(heap::line_pointer(page_, i));
                else
                    broken = true;
            }
    }
    t.count = n;
    t.min_attributes = fewest;
    if (broken || n != ref.ntuples)
        fail(n, PageStatus::Broken);
}

// ---- finding ------------------------------------------------------------------------------------------------------

// Gives up the first tuple, if there is one, that `is`.
template <class Is> void PageDecoder::fail_first(Is is) {
    for (uint32_t i = 0; i < tuples_.count; ++i)
        if (is(i))
            return fail(i, PageStatus::Broken);
}

// Is the attribute, or one from it to before the other, NULL in any tuple?
bool PageDecoder::any_null(uint32_t attribute) const { return tuples_.any_null[attribute / 64] >> attribute % 64 & 1; }

bool PageDecoder::any_null(uint32_t first, uint32_t behind) const {
    for (; first < behind; ++first)
        if (any_null(first))
            return true;
    return false;
}

void PageDecoder::go_through(const AttributeWalk &walk, TextCodes *texts) {
    const Tuples &t = tuples_;
    uint32_t constant = 0; // attributes that are where they are in each tuple
    while (constant < walk.fixed.size() && constant < t.min_attributes && !any_null(constant))
        ++constant;
    uint32_t next = 0; // attribute that tuples have been walked to
    for (const DecodeColumn &column : walk.columns) {
        if (next == column.attribute + 1)
            drop_failed(); // (another column of the same attribute)
        else
            find_column(walk, column, constant, next);
        next = std::max(next, column.attribute + 1);
        put_values(column, *texts++);
    }
}

// The tuples have been walked to `next`, or may stand behind the first `constant` attributes.
void PageDecoder::find_column(const AttributeWalk &walk, const DecodeColumn &column, uint32_t constant, uint32_t next) {
    const std::vector<AttributeLayout> &attributes = *walk.attributes;
    const uint32_t number = column.attribute;
    const AttributeLayout &attribute = attributes[number];
    if (number < constant)
        return find_at(walk.fixed[number], static_cast<uint32_t>(attribute.length));
    if (next <= constant) {
        pass_over(walk, constant, number);
        next = constant;
    }
    if (number >= tuples_.min_attributes) {
        for (; next < number; ++next)
            find_any<false>(attributes[next], next, number);
        return find_any<true>(attribute, number, number);
    }
    if (next == column.skipped_from && !any_null(next, number)) {
        for (const Skip &skip : column.skips)
            step_over(skip);
    } else {
        for (; next < number; ++next)
            find<false>(attributes[next], next, number);
    }
    find<true>(attribute, number, number);
}

// Of what has been found, what stands in tuples that have been given up meanwhile.
void PageDecoder::drop_failed() {
    while (found_.count > 0 && found_tuple(found_.count - 1) >= tuples_.count)
        --found_.count;
    found_.all = found_.count == tuples_.count;
}

// The first attributes, which are where they are in each tuple, to the end of the last. (Aligning is left to the next one, which may be NULL.
// A tuple that lacks the column that is wanted is not walked.)
void PageDecoder::pass_over(const AttributeWalk &walk, uint32_t attributes, uint32_t wanted_number) {
    Tuples &t = tuples_;
    const uint32_t last = attributes - 1,
                   end = attributes > 0 ? walk.fixed[last] + static_cast<uint32_t>((*walk.attributes)[last].length) : 0;
    const auto is_outside = [&](uint32_t i) { return end > t.length[i] && wanted_number < t.attributes[i]; };
    uint32_t outside = 0;
    for (uint32_t i = 0; i < t.count; ++i) {
        t.offset[i] = end;
        outside |= is_outside(i);
    }
    if (outside != 0)
        fail_first(is_outside);
}

// The attribute that is next, and that all tuples have, up to the one that is wanted.
template <bool wanted>
void PageDecoder::find(const AttributeLayout &attribute, uint32_t number, uint32_t wanted_number) {
    const bool nulls = any_null(number);
    if (attribute.length > 0)
        return nulls    ? find_sparse<wanted>(attribute, number)
               : wanted ? find_next(attribute)
                        : step_over({attribute.length, attribute.align, 1});
    if (attribute.length == -1 && (nulls    ? find_sparse_short<wanted>(number)
                                   : wanted ? find_short_varlena()
                                            : step_over_short(1)))
        return;
    find_any<wanted>(attribute, number, wanted_number);
}

void PageDecoder::step_over(const Skip &skip) {
    Tuples &t = tuples_;
    if (skip.length > 0) {
        const uint32_t bytes = static_cast<uint32_t>(skip.length), align = skip.align;
        const uint32_t count = t.count;
        uint32_t outside = 0;
        for (uint32_t i = 0; i < count; ++i) {
            t.offset[i] = heap::align_up(t.offset[i], align) + bytes;
            outside |= t.offset[i] > t.length[i];
        }
        if (outside != 0)
            fail_first([&](uint32_t i) { return t.offset[i] > t.length[i]; });
        return;
    }
    if (skip.length == -1 && step_over_short(skip.count))
        return;
    for (uint32_t i = 0; i < t.count; ++i) {
        const heap::Tuple tuple = {t.base[i], t.base[i] + t.length[i], 0, 0};
        for (uint32_t k = 0; k < skip.count; ++k) {
            heap::Place place;
            if (!heap::find_attribute(page_, tuple, t.offset[i], skip.length, skip.align, place))
                return fail(i, PageStatus::Broken);
            t.offset[i] = place.next - tuple.base;
        }
    }
}

// So many varlenas with short headers, in every tuple: false, and nothing has happened, if they are not, or do not end within
// their tuple.
bool PageDecoder::step_over_short(uint32_t varlenas) {
    Tuples &t = tuples_;
    const uint8_t *const page = page_;
    const uint32_t count = t.count;
    uint32_t other = 0; // see find_short_varlena()
    for (uint32_t i = 0; i < count; ++i) {
        const uint32_t base = t.base[i];
        uint32_t at = base + t.offset[i];
        for (uint32_t k = 0; k < varlenas; ++k) {
            const uint32_t header = page[at], size = header >> 1;
            other |= ((header & 1) - 1) | (size - 1);
            at += size;
        }
        t.stepped[i] = at - base;
        other |= t.length[i] - (at - base);
    }
    if (other >> 31 != 0)
        return false;
    memcpy(t.offset, t.stepped, count * sizeof *t.offset);
    return true;
}

// An attribute of fixed length at a known offset.
void PageDecoder::find_at(uint32_t offset, uint32_t bytes) {
    const Tuples &t = tuples_;
    const uint32_t count = t.count;
    uint32_t outside = 0;
    for (uint32_t i = 0; i < count; ++i) {
        found_.at[i] = t.base[i] + offset;
        found_.length[i] = bytes;
        outside |= offset + bytes > t.length[i];
    }
    if (outside != 0)
        fail_first([&](uint32_t i) { return offset + bytes > t.length[i]; });
    found_.count = t.count;
    found_.all = true;
}

// An attribute of fixed length that is next.
void PageDecoder::find_next(const AttributeLayout &attribute) {
    Tuples &t = tuples_;
    const uint32_t bytes = static_cast<uint32_t>(attribute.length), align = attribute.align, count = t.count;
    uint32_t outside = 0;
    for (uint32_t i = 0; i < count; ++i) {
        const uint32_t offset = heap::align_up(t.offset[i], align);
        found_.at[i] = t.base[i] + offset;
        found_.length[i] = bytes;
        t.offset[i] = offset + bytes;
        outside |= t.offset[i] > t.length[i];
    }
    if (outside != 0)
        fail_first([&](uint32_t i) { return t.offset[i] > t.length[i]; });
    found_.count = t.count;
    found_.all = true;
}

// A varlena with a short header, in every tuple: false, and nothing has happened, if it is not so or does not end within
// its tuple.
bool PageDecoder::find_short_varlena() {
    Tuples &t = tuples_;
    Found &found = found_;
    const uint8_t *const page = page_;
    const uint32_t count = t.count;
    uint32_t other = 0;
    for (uint32_t i = 0; i < count; ++i) {
        const uint32_t at = t.base[i] + t.offset[i], header = page[at], size = header >> 1, end = t.offset[i] + size;
        found.at[i] = at + 1;
        found.length[i] = size - 1;
        t.stepped[i] = end;
        // One of them is negative: a header that is even, a size of 0, an end behind the tuple's.
        other |= ((header & 1) - 1) | (size - 1) | (t.length[i] - end);
    }
    if (other >> 31 != 0)
        return false;
    memcpy(t.offset, t.stepped, count * sizeof *t.offset);
    found.count = count;
    found.all = true;
    return true;
}

// An attribute of fixed length that is next, in tuples where it is not NULL.
template <bool wanted> void PageDecoder::find_sparse(const AttributeLayout &attribute, uint32_t number) {
    Tuples &t = tuples_;
    Found &found = found_;
    const uint8_t *const bits = page_ + number / 8;
    const uint32_t bytes = static_cast<uint32_t>(attribute.length), align = attribute.align, bit = number % 8,
                   count = t.count;
    uint32_t n = 0, outside = 0;
    for (uint32_t i = 0; i < count; ++i) {
        const uint32_t there = bits[t.bitmap[i]] >> bit & 1, offset = heap::align_up(t.offset[i], align);
        if (wanted) {
            found.tuple[n] = i;
            found.at[n] = t.base[i] + offset;
            found.length[n] = bytes;
            n += there;
        }
        t.offset[i] = there != 0 ? offset + bytes : t.offset[i];
        outside |= t.offset[i] > t.length[i];
    }
    if (wanted) {
        found.count = n;
        found.all = n == count;
    }
    if (outside == 0)
        return;
    fail_first([&](uint32_t i) { return t.offset[i] > t.length[i]; });
    if (wanted)
        drop_failed();
}

// A varlena with a short header, in every tuple where it is not NULL; false as above.
template <bool wanted> bool PageDecoder::find_sparse_short(uint32_t number) {
    Tuples &t = tuples_;
    Found &found = found_;
    const uint8_t *const page = page_, *const bits = page_ + number / 8;
    const uint32_t bit = number % 8, count = t.count;
    uint32_t n = 0, other = 0; // see find_short_varlena()
    for (uint32_t i = 0; i < count; ++i) {
        const uint32_t there = bits[t.bitmap[i]] >> bit & 1, at = t.base[i] + t.offset[i], header = page[at],
                       size = header >> 1, end = t.offset[i] + size;
        if (wanted) {
            found.tuple[n] = i;
            found.at[n] = at + 1;
            found.length[n] = size - 1;
            n += there;
        }
        t.stepped[i] = there != 0 ? end : t.offset[i];
        other |= (((header & 1) - 1) | (size - 1) | (t.length[i] - end)) & (0 - there);
    }
    if (other >> 31 != 0)
        return false;
    memcpy(t.offset, t.stepped, count * sizeof *t.offset);
    if (wanted) {
        found.count = n;
        found.all = n == count;
    }
    return true;
}

// The attribute in every tuple that has all attributes up to the one that is wanted (this one, if `wanted`).
template <bool wanted>
void PageDecoder::find_any(const AttributeLayout &attribute, uint32_t number, uint32_t wanted_number) {
    Tuples &t = tuples_;
    uint32_t n = 0;
    for (uint32_t i = 0; i < t.count; ++i) {
        const heap::Tuple tuple = {t.base[i], t.base[i] + t.length[i], t.nulls[i], t.attributes[i]};
        if (wanted_number >= tuple.attributes || heap::is_null(page_, tuple, number))
            continue;
        heap::Place place;
        if (!heap::find_attribute(page_, tuple, t.offset[i], attribute.length, attribute.align, place)) {
            fail(i, PageStatus::Broken);
            break;
        }
        t.offset[i] = place.next - tuple.base;
        if (!wanted)
            continue;
        uint32_t start = place.at, length = place.next - place.at;
        if (attribute.length == -1 && heap::varlena_bytes(page_, place, start, length) != heap::Varlena::Inline) {
            fail(i, PageStatus::NeedsCpu);
            break;
        }
        found_.tuple[n] = i;
        found_.at[n] = start;
        found_.length[n++] = length;
    }
    if (!wanted)
        return;
    found_.count = n;
    found_.all = n == t.count;
}

// ---- values -------------------------------------------------------------------------------------------------------

// Tuples of which nothing was found have NULL, or what the column had when it was added.
void PageDecoder::put_absent(const DecodeColumn &column) {
    const ColumnLayout &layout = *column.layout;
    const size_t width = type_width(layout.type), count = tuples_.count;
    memset(column.values + row_start_ * width, 0, count * width);
    memset(column.nulls + row_start_, 1, count);
    size_t absent = count - found_.count;
    if (!layout.missing_null && column.attribute >= tuples_.min_attributes)
        for (uint32_t i = 0; i < count; ++i)
            if (column.attribute >= tuples_.attributes[i]) {
                put_missing(column, row_start_ + i);
                --absent;
            }
    stats[column.job_index].any_null |= absent != 0;
}

void PageDecoder::put_missing(const DecodeColumn &column, uint32_t row) {
    const ColumnLayout &layout = *column.layout;
    uint64_t words[2] = {layout.missing_low, static_cast<uint64_t>(layout.missing_high)};
    if (is_coded(layout.codec))
        words[0] = column.missing_code == Dictionary::full ? 0 : column.missing_code;
    const size_t width = type_width(layout.type);
    memcpy(column.values + row * width, words, width);
    column.nulls[row] = 0;
    ColumnStats &s = stats[column.job_index];
    if (layout.type == Type::I128)
        note_wide(s, static_cast<int128>(static_cast<uint128>(words[1]) << 64 | words[0]));
    else
        note(s, layout.type == Type::I16   ? static_cast<int16_t>(words[0])
                : layout.type == Type::I32 ? static_cast<int32_t>(words[0])
                                           : static_cast<int64_t>(words[0]));
}

// What has been found becomes values of the column.
void PageDecoder::put_values(const DecodeColumn &column, TextCodes &texts) {
    if (found_.all)
        memset(column.nulls + row_start_, 0, found_.count);
    else
        put_absent(column);
    if (found_.count == 0)
        return;
    if (!found_.all)
        for (uint32_t i = 0; i < found_.count; ++i)
            column.nulls[row(i)] = 0;
    switch (column.layout->codec) {
    case Codec::Bool:
        return put_integers<uint8_t>(column, [](uint8_t byte) { return static_cast<uint8_t>(byte != 0); });
    case Codec::Int16:
        return put_integers<int16_t>(column, [](int16_t value) { return value; });
    case Codec::Int32:
        return put_integers<int32_t>(column, [](int32_t value) { return value; });
    case Codec::Int64:
        return put_integers<int64_t>(column, [](int64_t value) { return value; });
    case Codec::Float4:
        return put_floats<uint32_t>(column);
    case Codec::Float8:
        return put_floats<uint64_t>(column);
    case Codec::NumericScale:
        return put_scales(column);
    case Codec::Numeric:
    case Codec::MixedNumeric:
        return column.layout->type == Type::I128 ? put_numerics<int128>(column) : put_numerics<int64_t>(column);
    case Codec::Uuid:
        return put_wide(column, heap::uuid_value);
    case Codec::Interval:
        return put_wide(column, heap::interval_value);
    case Codec::Text:
    case Codec::Fixed:
        return put_texts(column, texts);
    }
}

template <class Put> void PageDecoder::each_row(Put put) {
    const uint32_t count = found_.count, start = row_start_;
    if (found_.all)
        for (uint32_t i = 0; i < count; ++i)
            put(i, start + i);
    else
        for (uint32_t i = 0; i < count; ++i)
            put(i, start + found_.tuple[i]);
}

template <class T, class Make> void PageDecoder::put_integers(const DecodeColumn &column, Make make) {
    T least = std::numeric_limits<T>::max(), most = std::numeric_limits<T>::min();
    const uint8_t *const page = page_;
    uint8_t *const values = column.values;
    each_row([&, page, values](uint32_t i, uint32_t row) {
        const T value = make(load<T>(page + found_.at[i]));
        store(values, row, value);
        least = std::min(least, value);
        most = std::max(most, value);
    });
    note(stats[column.job_index], least);
    note(stats[column.job_index], most);
}

template <class Word> void PageDecoder::put_floats(const DecodeColumn &column) {
    each_row([&, page = page_, values = column.values](uint32_t i, uint32_t row) {
        store(values, row, load<Word>(page + found_.at[i]));
    });
    stats[column.job_index].any_value = true;
}

template <class Read> void PageDecoder::put_wide(const DecodeColumn &column, Read read) {
    each_row([&](uint32_t i, uint32_t row) {
        const int128 value = read(page_, found_.at[i]);
        store(column.values, row, value);
        note_wide(stats[column.job_index], value);
    });
}

void PageDecoder::put_scales(const DecodeColumn &column) {
    for (uint32_t i = 0; i < found_.count; ++i) {
        int32_t scale;
        if (!heap::decode_numeric_scale(page_, found_.at[i], found_.length[i], scale) || scale > 63)
            return fail(found_tuple(i), PageStatus::Unrepresentable);
        store(column.values, row(i), scale);
        note(stats[column.job_index], scale);
    }
}

// First as if all were small; if one is not, all of them once more.
template <class T> void PageDecoder::put_numerics(const DecodeColumn &column) {
    const bool mixed = column.layout->codec == Codec::MixedNumeric;
    const SmallNumeric small(column.layout->scale, mixed);
    const int128 limit = numeric_limit(*column.layout);
    const auto is_beyond = [limit](int128 value) { return limit != 0 && (value >= limit || value <= -limit); };
    const uint8_t *const page = page_;
    const uint32_t count = found_.count;
    ColumnStats &s = stats[column.job_index];
    int64_t apart[heap::max_line_pointers], least, most;
    const bool in_place = found_.all && sizeof(T) == sizeof *apart;
    int64_t *const decoded = in_place ? reinterpret_cast<int64_t *>(column.values) + row_start_ : apart;
    if (host::kernels().small_numerics(small, page, count, found_.at, found_.length, decoded, &least, &most) == 0 &&
        !is_beyond(least) && !is_beyond(most)) {
        if (!in_place)
            each_row([&](uint32_t i, uint32_t row) { store(column.values, row, static_cast<T>(decoded[i])); });
        note(s, least);
        note(s, most);
        return;
    }
    for (uint32_t i = 0; i < count; ++i) {
        int128 value;
        if (small.decode(page, found_.at[i], found_.length[i], decoded[i]) == 0)
            value = decoded[i];
        else if (!heap::decode_numeric(page, found_.at[i], found_.length[i], column.layout->scale, mixed, value))
            return fail(found_tuple(i), PageStatus::Unrepresentable);
        if (value != static_cast<T>(value) || is_beyond(value))
            return fail(found_tuple(i), PageStatus::Unrepresentable);
        store(column.values, row(i), static_cast<T>(value));
        note_wide(s, value);
    }
}

void PageDecoder::put_texts(const DecodeColumn &column, TextCodes &texts) {
    ColumnStats seen;
    for (uint32_t i = 0; i < found_.count; ++i) {
        const char *const text = reinterpret_cast<const char *>(page_ + found_.at[i]);
        const uint32_t code = texts.code(text, found_.length[i], {row(i), page_number_});
        if (code == Dictionary::full)
            continue;
        store(column.values, row(i), code);
        note(seen, code);
    }
    stats[column.job_index].merge(seen);
}

} // namespace gpuscan
