// Of which rows was a join table made? Where a few of them have changed, these are taken out or added, and the table is made anew of
// what there is then (see join_table.hpp): that takes the time of the table's rows, and not that of the rows which its build reads,
// filters and looks up in other tables.
//
// A key is read back from its number, or from its words; payload from its narrow form. An entry has no mark of the row that it
// was, so whichever has the same key and payload goes for a row that is to be left out.
#include <algorithm>
#include <cstring>

#include "host/join_table.hpp"

namespace gpuscan::host {

namespace {

template <class T> void put(uint8_t *to, int128 value) {
    const T narrow = static_cast<T>(value);
    memcpy(to, &narrow, sizeof narrow);
}

void put_value(Type type, int128 value, uint8_t *to) {
    switch (type_width(type)) {
    case 1:
        return put<uint8_t>(to, value);
    case 2:
        return put<uint16_t>(to, value);
    case 4:
        return put<uint32_t>(to, value);
    case 8:
        return put<uint64_t>(to, value);
    default:
        return put<uint128>(to, value);
    }
}

bool is_null(const WorkArray<uint8_t> &nulls, size_t at) { return !nulls.empty() && nulls[at] != 0; }

} // namespace

// One thread lists the entries and looks for rows, 5 and 60 ns each; for more of them all threads had better make the table anew. So they
// had where a row looks at many entries of its key, as all rows of that key do.
constexpr size_t max_listed = 1 << 20, max_compared = 1 << 16;
constexpr size_t looks_of_row = 4, spare_looks = 1 << 19; // at entries

class JoinTable::Reader {
  public:
    Reader(const JoinTable &table, const WorkContext &work)
        : t_(table), work_(work), dropped_(work.memory), entries_(work.memory), numbers_(work.memory) {}
    bool drop(const BuildRows &rows);
    void read(BuildRows &rows);
    bool nothing_is_left() {
        list();
        return entries_.empty();
    }

  private:
    bool is_dropped(size_t entry) const { return !dropped_.empty() && (dropped_[entry / 64] >> entry % 64 & 1) != 0; }
    bool drop_one(uint32_t first, uint32_t count, const BuildRows &rows, size_t row);
    bool may_look() { return looks_left_-- > 0; }
    bool has_payload(uint32_t entry, const BuildRows &rows, size_t row) const;
    void add(size_t entry, uint64_t number);
    void list();
    int128 key_value(const Key &key, size_t i) const;
    void read_key(size_t k, BuildRows::Column &to) const;
    void read_payload(const PayloadColumn &from, BuildRows::Column &to) const;

    const JoinTable &t_;
    const WorkContext &work_;
    WorkArray<uint64_t> dropped_; // bits by entry; empty: none is
    int64_t looks_left_ = spare_looks;
    WorkArray<uint32_t> entries_;
    WorkArray<uint64_t> numbers_; // of the entries' keys
};

bool JoinTable::read(const WorkContext &work, const std::vector<BuildRows> &without, BuildRows &rows) const {
    if (rows_ > max_listed)
        return false;
    Reader reader(*this, work);
    for (const BuildRows &part : without)
        if (!reader.drop(part))
            return false;
    reader.read(rows);
    return true;
}

// Every row of the other one is a row of this one, and as many there are.
bool JoinTable::has_same_rows(const WorkContext &work, const JoinTable &other) const {
    const auto same_type = [](const auto &a, const auto &b) { return a.type == b.type; };
    if (form_ != other.form_ || rows_ != other.rows_ || rows_ > max_compared || keys_.size() != other.keys_.size() ||
        !std::equal(payload_.begin(), payload_.end(), other.payload_.begin(), other.payload_.end(), same_type))
        return false;
    BuildRows rows;
    for (size_t k = 0; k < keys_.size(); ++k) {
        if (keys_[k].type != other.keys_[k].type)
            return false;
        rows.keys.emplace_back(keys_[k].type, work.memory);
    }
    for (const PayloadColumn &column : payload_)
        rows.payload.emplace_back(column.type, work.memory);
    Reader(other, work).read(rows);
    Reader reader(*this, work);
    return reader.drop(rows) && reader.nothing_is_left();
}

bool have_same_rows(const WorkContext &work, const BuiltTable &a, const BuiltTable &b) {
    const auto *const one = dynamic_cast<const JoinTable *>(&a), *const two = dynamic_cast<const JoinTable *>(&b);
    return one != nullptr && two != nullptr && one->has_same_rows(work, *two);
}

// ---- rows that are left out ---------------------------------------------------------------------------------------

// False: the table has not got one of them, or it takes too long to find out.
bool JoinTable::Reader::drop(const BuildRows &rows) {
    looks_left_ += static_cast<int64_t>(looks_of_row * rows.n);
    ProbeScratch scratch;
    std::vector<std::vector<uint8_t>> values(rows.keys.size()); // (vector loads read behind the last row)
    std::vector<Vec> keys(rows.keys.size());
    std::vector<uint32_t> positions(batch_rows + batch_slack), entries(positions.size()), counts(positions.size());
    for (size_t begin = 0; begin < rows.n; begin += batch_rows) {
        const uint32_t n = static_cast<uint32_t>(std::min<size_t>(batch_rows, rows.n - begin));
        for (size_t k = 0; k < keys.size(); ++k) {
            const size_t width = type_width(rows.keys[k].type);
            values[k].resize((batch_rows + batch_slack) * width);
            memcpy(values[k].data(), rows.keys[k].values.data() + begin * width, n * width);
            keys[k].values = values[k].data();
        }
        if (t_.probe(keys.data(), n, scratch, positions.data(), entries.data(), counts.data()) != n)
            return false;
        for (uint32_t i = 0; i < n; ++i)
            if (!drop_one(entries[i], t_.unique_ ? 1 : counts[i], rows, begin + positions[i]))
                return false;
    }
    return true;
}

bool JoinTable::Reader::drop_one(uint32_t first, uint32_t count, const BuildRows &rows, size_t row) {
    if (dropped_.empty())
        work_.fill(dropped_, t_.entries_ / 64 + 1, uint64_t(0));
    for (uint32_t entry = first; entry < first + count && may_look(); ++entry)
        if (!is_dropped(entry) && has_payload(entry, rows, row)) {
            dropped_[entry / 64] |= uint64_t(1) << entry % 64;
            return true;
        }
    return false;
}

bool JoinTable::Reader::has_payload(uint32_t entry, const BuildRows &rows, size_t row) const {
    for (size_t c = 0; c < t_.payload_.size(); ++c) {
        const PayloadColumn &own = t_.payload_[c];
        const BuildRows::Column &other = rows.payload[c];
        if (is_null(own.nulls, entry) != is_null(other.nulls, row))
            return false;
        if (is_null(own.nulls, entry))
            continue;
        const size_t width = type_width(own.type);
        alignas(64) uint8_t value[(1 + batch_slack) * sizeof(int128)];
        uint32_t at[1 + batch_slack] = {entry};
        kernels().gather_narrow(width, own.stored, 1, own.values.data(), own.low, at, value);
        if (memcmp(value, other.values.data() + row * width, width) != 0)
            return false;
    }
    return true;
}

// ---- all others ---------------------------------------------------------------------------------------------------

void JoinTable::Reader::add(size_t entry, uint64_t number) {
    if (is_dropped(entry))
        return;
    entries_.push_back(static_cast<uint32_t>(entry));
    numbers_.push_back(number);
}

void JoinTable::Reader::list() {
    entries_.reserve(t_.rows_);
    numbers_.reserve(t_.rows_);
    switch (t_.form_) {
    case Form::Empty:
        return;
    case Form::Bitmap:
        for (size_t word = 0; word < t_.bitmap_.size(); ++word)
            for (uint32_t bits = t_.bitmap_[word]; bits != 0; bits &= bits - 1) {
                const size_t number = word * 32 + static_cast<size_t>(__builtin_ctz(bits));
                add(number, number);
            }
        return;
    case Form::Dense:
        for (size_t number = 0; number < t_.domain_; ++number)
            for (uint32_t entry = t_.offsets_[number]; entry < t_.offsets_[number + 1]; ++entry)
                add(entry, number);
        return;
    case Form::Hash:
        for (size_t at = 0; at < t_.slots_.size(); ++at)
            for (uint32_t i = 0; i < t_.slots_[at].count; ++i)
                add(t_.slots_[at].first + i, t_.slots_[at].key);
        return;
    case Form::Wide:
        for (size_t entry = 0; entry < t_.entries_; ++entry)
            add(entry, 0);
        return;
    }
}

// Of the i-th of the listed entries.
int128 JoinTable::Reader::key_value(const Key &key, size_t i) const {
    if (t_.form_ != Form::Wide) {
        const uint64_t values = static_cast<uint64_t>(key.max) - static_cast<uint64_t>(key.min) + 1;
        const uint64_t part = numbers_[i] / key.stride;
        return int128(key.min) + (values == 0 ? part : part % values);
    }
    const uint64_t *words = t_.entry_words_.data() + entries_[i] * t_.words_ + key.word;
    return key.type == Type::I128 ? static_cast<int128>(uint128(words[1]) << 64 | words[0]) : int128(words[0]);
}

void JoinTable::Reader::read_key(size_t k, BuildRows::Column &to) const {
    const size_t width = type_width(to.type);
    to.values.resize(entries_.size() * width);
    work_.pieces(entries_.size(), piece_rows, [&](size_t begin, size_t end) {
        for (size_t i = begin; i < end; ++i)
            put_value(to.type, key_value(t_.keys_[k], i), to.values.data() + i * width);
    });
}

void JoinTable::Reader::read_payload(const PayloadColumn &from, BuildRows::Column &to) const {
    const size_t width = type_width(to.type);
    to.values.resize(entries_.size() * width);
    if (!from.nulls.empty())
        to.nulls.resize(entries_.size());
    work_.pieces(entries_.size(), batch_rows, [&](size_t begin, size_t end) {
        alignas(64) uint8_t values[(batch_rows + batch_slack) * sizeof(int128)]; // (stores may write too many)
        uint32_t at[batch_rows + batch_slack] = {};
        memcpy(at, entries_.data() + begin, (end - begin) * sizeof *at);
        kernels().gather_narrow(width, from.stored, end - begin, from.values.data(), from.low, at, values);
        memcpy(to.values.data() + begin * width, values, (end - begin) * width);
        for (size_t i = begin; !from.nulls.empty() && i < end; ++i)
            to.nulls[i] = from.nulls[entries_[i]];
    });
}

void JoinTable::Reader::read(BuildRows &rows) {
    list();
    rows.n = entries_.size();
    for (size_t k = 0; k < rows.keys.size(); ++k)
        read_key(k, rows.keys[k]);
    for (size_t c = 0; c < rows.payload.size(); ++c)
        read_payload(t_.payload_[c], rows.payload[c]);
}

} // namespace gpuscan::host
