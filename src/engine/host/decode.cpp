// Decoding heap pages to columns on the CPU.
//
// Each page is first copied (it may change while it is read; what was checked must be what is used), then its tuples are
// walked once: one pass over the attributes up to the last one needed, dropping off each wanted column on the way. The
// columns of a job belong to one table, so their layouts are prefixes of one another; where they are not (or one
// attribute is wanted twice), a column gets a walk of its own. Attributes before the first varlena have constant offsets
// in tuples without NULLs, worked out once per job.
//
// Text goes through a small direct-mapped cache per thread before it asks the shared dictionary: where few values repeat, a
// hit costs one hash and one compare. What is not in it is asked for many pages at a time, which is what makes columns of
// unique texts bearable (dictionary.cpp); the pages' copies stay until then.
//
// A page that fails leaves NULL in all its rows, so that nobody ever meets a code or a value that is not there.
#include "engine/host/decode.hpp"

#include <algorithm>
#include <cstring>
#include <mutex>

#include "cuda/heap_page.cuh"
#include "engine/device.hpp"
#include "engine/dictionary.hpp"
#include "engine/text_hash.hpp"

namespace gpuscan {
namespace {

constexpr size_t pages_per_task = 64;
constexpr size_t text_pages = 32; // whose texts are numbered together
constexpr uint32_t unknown_offset = 0xffffffffu;

class TextCache {
  public:
    explicit TextCache(Dictionary *dictionary) : dictionary_(dictionary), entries_(dictionary != nullptr ? size : 0) {}

    // The code of a text with this hash if it is here, else Dictionary::full.
    uint32_t code(const char *data, uint32_t length, uint64_t hash) const {
        const Entry &e = entries_[hash % size];
        if (e.hash == hash && e.length == length && e.data != nullptr && memcmp(e.data, data, length) == 0)
            return e.code;
        return Dictionary::full;
    }

    void remember(const Dictionary::Text &text) {
        entries_[text.hash % size] = {text.hash, dictionary_->entry(text.code).data(), text.length, text.code};
    }

  private:
    static constexpr size_t size = 1024;
    struct Entry {
        uint64_t hash = 0;
        const char *data = nullptr; // in the dictionary
        uint32_t length = 0;
        uint32_t code = 0;
    };
    Dictionary *dictionary_;
    std::vector<Entry> entries_;
};

// A column of the job with what decoding it needs at hand.
struct Column {
    const ColumnLayout *layout;
    uint8_t *values, *nulls;
    Dictionary *dictionary;
    uint32_t attribute; // index of its own attribute
    size_t job_index;
    uint32_t missing_code = 0; // Text
};

// Columns whose layouts are prefixes of `attributes`, in the order of their attributes.
struct Walk {
    const std::vector<AttributeLayout> *attributes;
    std::vector<uint32_t> fixed; // offset of each attribute in a tuple without NULLs; unknown behind a varlena
    std::vector<Column> columns;
};

bool same(const AttributeLayout &a, const AttributeLayout &b) { return a.length == b.length && a.align == b.align; }

bool is_prefix(const std::vector<AttributeLayout> &part, const std::vector<AttributeLayout> &whole) {
    return part.size() <= whole.size() && std::equal(part.begin(), part.end(), whole.begin(), same);
}

// What the codec needs must be what the attribute has, or the reads below would not be checked.
void check_column(const ColumnTarget &target, size_t rows) {
    const ColumnLayout &layout = *target.layout;
    static constexpr int16_t length[] = {1, 2, 4, 8, 4, 8, -1, -1, 16, 0, 16};
    static constexpr Type type[] = {Type::Bool, Type::I16,  Type::I32,  Type::I64,  Type::F32, Type::F64,
                                    Type::I64,  Type::Code, Type::I128, Type::Code, Type::I128};
    size_t codec = static_cast<size_t>(layout.codec);
    if (codec >= 11 || layout.attributes.empty() ||
        (layout.codec == Codec::Fixed ? layout.attributes.back().length <= 0
                                      : layout.attributes.back().length != length[codec]))
        throw DeviceError("column layout does not match its codec");
    if (layout.type != type[codec] && !(layout.codec == Codec::Numeric && layout.type == Type::I128))
        throw DeviceError("column type does not match its codec");
    if (is_coded(layout.codec) && target.dictionary == nullptr)
        throw DeviceError("text column without a dictionary");
    for (const AttributeLayout &a : layout.attributes) {
        bool align = a.align == 1 || a.align == 2 || a.align == 4 || a.align == 8;
        if (!align || a.length == 0 || a.length < -2)
            throw DeviceError("invalid attribute layout");
    }
    if (target.values->size < rows * type_width(layout.type) || target.nulls->size < rows)
        throw DeviceError("column buffer too small");
}

std::vector<Walk> plan_walks(const DecodeJob &job, bool &dictionary_full) {
    std::vector<size_t> order(job.columns.size());
    for (size_t i = 0; i < order.size(); ++i)
        order[i] = i;
    auto length = [&](size_t i) { return job.columns[i].layout->attributes.size(); };
    std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return length(a) > length(b); });
    std::vector<Walk> walks;
    for (size_t i : order) {
        const ColumnTarget &t = job.columns[i];
        Column column{t.layout,     static_cast<uint8_t *>(t.values->data), static_cast<uint8_t *>(t.nulls->data),
                      t.dictionary, static_cast<uint32_t>(length(i)) - 1,   i};
        if (is_coded(t.layout->codec) && !t.layout->missing_null) {
            column.missing_code = t.dictionary->intern(t.layout->missing_text);
            dictionary_full |= column.missing_code == Dictionary::full;
        }
        auto walk = std::find_if(walks.begin(), walks.end(), [&](const Walk &w) {
            return w.columns.back().attribute != column.attribute && is_prefix(t.layout->attributes, *w.attributes);
        });
        if (walk == walks.end())
            walk = walks.insert(walks.end(), Walk{&t.layout->attributes, {}, {}});
        walk->columns.push_back(column);
    }
    for (Walk &walk : walks) {
        std::reverse(walk.columns.begin(), walk.columns.end());
        uint32_t offset = 0;
        for (const AttributeLayout &a : *walk.attributes) {
            if (offset != unknown_offset && a.length > 0) {
                offset = heap::align_up(offset, a.align);
                walk.fixed.push_back(offset);
                offset += static_cast<uint32_t>(a.length);
                continue;
            }
            // The first varlena itself may stand unaligned (short header): its place is found by looking.
            walk.fixed.push_back(unknown_offset);
            offset = unknown_offset;
        }
    }
    return walks;
}

class PageDecoder {
  public:
    PageDecoder(const std::vector<Walk> &walks, size_t columns) : stats(columns), walks_(walks) {
        for (const Walk &walk : walks)
            for (const Column &column : walk.columns) {
                texts_.emplace_back(column);
                any_text_ |= column.dictionary != nullptr;
            }
        copies_.reset(new uint8_t[most_pages() * page_size + alignment]);
    }

    std::vector<ColumnStats> stats;
    bool dictionary_full = false;

    // How many pages decode() takes at most.
    size_t most_pages() const { return any_text_ ? text_pages : 1; }

    void decode(const PageRef *refs, size_t count, PageStatus *statuses) {
        uint8_t *const copies =
            copies_.get() + (alignment - reinterpret_cast<uintptr_t>(copies_.get()) % alignment) % alignment;
        for (page_number_ = 0; page_number_ < count; ++page_number_) {
            page_ = copies + page_number_ * page_size;
            memcpy(page_, refs[page_number_].page, page_size);
            for (Texts &texts : texts_)
                texts.before_page = texts.wanted.size();
            statuses[page_number_] = decode_rows(refs[page_number_]);
            if (statuses[page_number_] == PageStatus::Ok)
                continue;
            clear(refs[page_number_]);
            for (Texts &texts : texts_) {
                texts.wanted.resize(texts.before_page);
                texts.rows.resize(texts.before_page);
            }
        }
        for (Texts &texts : texts_)
            if (!texts.wanted.empty())
                number(texts, statuses);
        for (size_t i = 0; i < count; ++i)
            if (statuses[i] == PageStatus::Unrepresentable)
                clear(refs[i]);
    }

  private:
    static constexpr size_t alignment = 64;
    // Of a text column: what its dictionary is asked for after the pages are decoded.
    struct Texts {
        explicit Texts(const Column &c) : column(c), cache(c.dictionary) {}
        const Column &column;
        TextCache cache;
        struct Row {
            uint32_t row, page;
        };
        std::vector<Dictionary::Text> wanted;
        std::vector<Row> rows; // of `wanted`
        size_t before_page = 0;
    };

    const std::vector<Walk> &walks_;
    std::vector<Texts> texts_; // by column, in the order of the walks
    bool any_text_ = false;
    std::unique_ptr<uint8_t[]> copies_;
    uint8_t *page_ = nullptr; // the present one
    size_t page_number_ = 0;

    void number(Texts &texts, PageStatus *statuses) {
        texts.column.dictionary->intern_many(texts.wanted.data(), texts.wanted.size());
        for (size_t i = 0; i < texts.wanted.size(); ++i) {
            const Dictionary::Text &text = texts.wanted[i];
            if (text.code == Dictionary::full) {
                dictionary_full = true;
                statuses[texts.rows[i].page] = PageStatus::Unrepresentable;
                continue;
            }
            texts.cache.remember(text);
            put(texts.column, texts.rows[i].row, text.code);
            note(texts.column, text.code);
        }
        texts.wanted.clear();
        texts.rows.clear();
    }

    void clear(const PageRef &ref) {
        for (const Walk &walk : walks_)
            for (const Column &c : walk.columns) {
                size_t width = type_width(c.layout->type);
                memset(c.values + ref.row_start * width, 0, ref.ntuples * width);
                memset(c.nulls + ref.row_start, 1, ref.ntuples);
            }
    }

    PageStatus decode_rows(const PageRef &ref) {
        uint32_t count = heap::line_pointer_count(page_);
        uint32_t row = ref.row_start, end = row + ref.ntuples;
        for (uint32_t i = 0; i < 320; ++i) {
            if (ref.mask != nullptr && !(ref.mask->bits[i / 64] >> (i % 64) & 1))
                continue;
            if (i >= count) {
                if (ref.mask != nullptr)
                    return PageStatus::Broken;
                break;
            }
            heap::LinePointer pointer = heap::line_pointer(page_, i);
            if (ref.mask == nullptr && pointer.flags != heap::lp_normal)
                continue;
            heap::Tuple tuple;
            if (row == end || !heap::open_tuple(page_, pointer, tuple))
                return PageStatus::Broken;
            size_t first = 0;
            for (const Walk &walk : walks_) {
                PageStatus status = decode_tuple(walk, tuple, row, first);
                if (status != PageStatus::Ok)
                    return status;
                first += walk.columns.size();
            }
            ++row;
        }
        return row == end ? PageStatus::Ok : PageStatus::Broken;
    }

    PageStatus decode_tuple(const Walk &walk, const heap::Tuple &tuple, uint32_t row, size_t number) {
        const AttributeLayout *attributes = walk.attributes->data();
        uint32_t attribute = 0; // next to walk over
        uint32_t offset = 0;    // where it starts at the earliest
        for (const Column &column : walk.columns) {
            Texts &texts = texts_[number++];
            if (column.attribute >= tuple.attributes) {
                put_missing(column, row);
                continue;
            }
            if (tuple.nulls == 0 && walk.fixed[column.attribute] != unknown_offset) {
                attribute = column.attribute;
                offset = walk.fixed[attribute];
            }
            heap::Place place{0, 0};
            bool null = false;
            for (; attribute <= column.attribute; ++attribute) {
                null = heap::is_null(page_, tuple, attribute);
                if (null)
                    continue;
                const AttributeLayout &a = attributes[attribute];
                if (!heap::find_attribute(page_, tuple, offset, a.length, a.align, place))
                    return PageStatus::Broken;
                offset = place.next - tuple.base;
            }
            if (null) {
                put_null(column, row);
                continue;
            }
            PageStatus status = put_value(column, place, row, texts);
            if (status != PageStatus::Ok)
                return status;
        }
        return PageStatus::Ok;
    }

    void put_null(const Column &column, uint32_t row) {
        size_t width = type_width(column.layout->type);
        memset(column.values + row * width, 0, width);
        column.nulls[row] = 1;
        stats[column.job_index].any_null = true;
    }

    void put_missing(const Column &column, uint32_t row) {
        const ColumnLayout &layout = *column.layout;
        if (layout.missing_null) {
            put_null(column, row);
            return;
        }
        uint64_t words[2] = {layout.missing_low, static_cast<uint64_t>(layout.missing_high)};
        if (is_coded(layout.codec))
            words[0] = column.missing_code == Dictionary::full ? 0 : column.missing_code;
        size_t width = type_width(layout.type);
        memcpy(column.values + row * width, words, width);
        column.nulls[row] = 0;
        if (layout.type == Type::I128)
            note_wide(column, static_cast<int128>(static_cast<uint128>(words[1]) << 64 | words[0]));
        else
            note(column, layout.type == Type::I16   ? static_cast<int16_t>(words[0])
                         : layout.type == Type::I32 ? static_cast<int32_t>(words[0])
                                                    : static_cast<int64_t>(words[0]));
    }

    void note(const Column &column, int64_t value) {
        ColumnStats &s = stats[column.job_index];
        s.any_value = true;
        s.min = value < s.min ? value : s.min;
        s.max = value > s.max ? value : s.max;
    }

    void note_wide(const Column &column, int128 value) {
        if (value == static_cast<int64_t>(value))
            return note(column, static_cast<int64_t>(value));
        stats[column.job_index].any_value = true;
        stats[column.job_index].any_wide = true;
    }

    template <class T> void put(const Column &column, uint32_t row, T value) {
        memcpy(column.values + row * sizeof(T), &value, sizeof(T));
        column.nulls[row] = 0;
    }

    PageStatus put_value(const Column &column, heap::Place place, uint32_t row, Texts &texts) {
        switch (column.layout->codec) {
        case Codec::Bool: {
            uint8_t value = page_[place.at] != 0;
            put(column, row, value);
            note(column, value);
            return PageStatus::Ok;
        }
        case Codec::Int16: {
            int16_t value = static_cast<int16_t>(heap::load16(page_, place.at));
            put(column, row, value);
            note(column, value);
            return PageStatus::Ok;
        }
        case Codec::Int32: {
            int32_t value = static_cast<int32_t>(heap::load32(page_, place.at));
            put(column, row, value);
            note(column, value);
            return PageStatus::Ok;
        }
        case Codec::Int64: {
            int64_t value = static_cast<int64_t>(heap::load64(page_, place.at));
            put(column, row, value);
            note(column, value);
            return PageStatus::Ok;
        }
        case Codec::Float4:
            put(column, row, heap::load32(page_, place.at));
            stats[column.job_index].any_value = true;
            return PageStatus::Ok;
        case Codec::Float8:
            put(column, row, heap::load64(page_, place.at));
            stats[column.job_index].any_value = true;
            return PageStatus::Ok;
        case Codec::Numeric:
            return put_numeric(column, place, row);
        case Codec::Text:
            return put_text(column, place, row, texts);
        case Codec::Uuid: {
            const int128 value = heap::uuid_value(page_, place.at);
            put(column, row, value);
            note_wide(column, value);
            return PageStatus::Ok;
        }
        case Codec::Interval: {
            const int128 value = heap::interval_value(page_, place.at);
            put(column, row, value);
            note_wide(column, value);
            return PageStatus::Ok;
        }
        case Codec::Fixed:
            return put_code(column, place.at, place.next - place.at, row, texts);
        }
        return PageStatus::Broken;
    }

    PageStatus put_numeric(const Column &column, heap::Place place, uint32_t row) {
        uint32_t start, length;
        if (heap::varlena_bytes(page_, place, start, length) != heap::Varlena::Inline)
            return PageStatus::NeedsCpu;
        int128 value;
        if (!heap::decode_numeric(page_, start, length, column.layout->scale, value))
            return PageStatus::Unrepresentable;
        if (column.layout->type == Type::I128) {
            put(column, row, value);
            note_wide(column, value);
            return PageStatus::Ok;
        }
        if (value != static_cast<int64_t>(value))
            return PageStatus::Unrepresentable;
        put(column, row, static_cast<int64_t>(value));
        note(column, static_cast<int64_t>(value));
        return PageStatus::Ok;
    }

    PageStatus put_text(const Column &column, heap::Place place, uint32_t row, Texts &texts) {
        uint32_t start, length;
        if (heap::varlena_bytes(page_, place, start, length) != heap::Varlena::Inline)
            return PageStatus::NeedsCpu;
        return put_code(column, start, length, row, texts);
    }

    PageStatus put_code(const Column &column, uint32_t start, uint32_t length, uint32_t row, Texts &texts) {
        const char *const data = reinterpret_cast<const char *>(page_ + start);
        const uint64_t hash = text_hash(data, length);
        const uint32_t code = texts.cache.code(data, length, hash);
        if (code == Dictionary::full) {
            texts.wanted.push_back({data, length, code, hash});
            texts.rows.push_back({row, static_cast<uint32_t>(page_number_)});
            return PageStatus::Ok;
        }
        put(column, row, code);
        note(column, code);
        return PageStatus::Ok;
    }
};

} // namespace

void decode_pages(ThreadPool &pool, const DecodeJob &job, DecodeResult &result, const std::atomic<uint32_t> *cancel) {
    size_t rows = 0;
    for (const PageRef &page : job.pages)
        rows = std::max<size_t>(rows, size_t(page.row_start) + page.ntuples);
    for (const ColumnTarget &target : job.columns)
        check_column(target, rows);
    result.pages.assign(job.pages.size(), PageStatus::Broken);
    result.columns.assign(job.columns.size(), ColumnStats());
    result.dictionary_full = false;
    std::vector<Walk> walks = plan_walks(job, result.dictionary_full);
    std::vector<std::unique_ptr<PageDecoder>> decoders(pool.workers());
    size_t tasks = (job.pages.size() + pages_per_task - 1) / pages_per_task;
    pool.run(tasks, [&](size_t task, unsigned worker) {
        auto &decoder = decoders[worker];
        if (!decoder)
            decoder = std::make_unique<PageDecoder>(walks, job.columns.size());
        size_t end = std::min(job.pages.size(), (task + 1) * pages_per_task);
        for (size_t i = task * pages_per_task; i < end;) {
            if (cancel != nullptr && cancel->load(std::memory_order_relaxed) != 0)
                throw Cancelled();
            const size_t count = std::min(decoder->most_pages(), end - i);
            decoder->decode(&job.pages[i], count, &result.pages[i]);
            i += count;
        }
    });
    for (auto &decoder : decoders) {
        if (!decoder)
            continue;
        result.dictionary_full |= decoder->dictionary_full;
        for (size_t c = 0; c < job.columns.size(); ++c)
            result.columns[c].merge(decoder->stats[c]);
    }
}

} // namespace gpuscan
