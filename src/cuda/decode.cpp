// The host's half of decoding on the GPU: describing the job, mirroring dictionaries, adding texts that are new.
//
// Many jobs run at once (a window of every feeding process), each in a stream context of its own, and share the link. So a job is few
// calls of the driver: one copy takes its descriptions to memory that the stream context keeps, one copy brings the results back.
// (Pages that are not in the registered pool are copied first.) It runs in slices of pages.
// Texts that a mirror does not have are listed by the kernel; the host asks the dictionaries for their codes, which number
// them if they are new (by several threads where the list is long), and a second kernel puts the codes into the rows. So a column of unique texts costs little more than
// the host's part, and needs no mirror: it would be as long as the column, and have nothing that is asked for again. A mirror
// is brought up to date when texts that the dictionary had were missing in it as often as it has entries, so that all its
// updates together cost no more than what was missed.
// Where the list was too short, the rest of the pages comes back as missed and is decoded again, with mirrors that are up to
// date. A page may change meanwhile, so the number of rounds is bounded: what is still missed then is Broken.
#include "cuda/decode.hpp"

#include <algorithm>
#include <cstring>
#include <mutex>

#include "cuda/pack.hpp"
#include "device/decode.cuh"
#include "engine/device.hpp"
#include "engine/store/dictionary.hpp"
#include "engine/util/in_parallel.hpp"
#include "engine/util/text_hash.hpp"

namespace gpuscan::cuda {

namespace {

constexpr uint32_t miss_room = 1u << 18;
constexpr size_t texts_at_once = 1u << 14;
constexpr size_t read_ahead = 16;
constexpr int max_idle_rounds = 4;         // rounds in which no dictionary grew
constexpr size_t few_pages = 512;          // are waited for without sleep
constexpr uint32_t first_slice = 1u << 15; // pages per launch: 256 MB, 5 ms over the link

// ---- mirrors -----------------------------------------------------------------------------------------------------

uint64_t mirror_key() { return sem::hash64(text_hash_keys.first); }

// Entries of the dictionary, from the first on, in device memory; a decode that runs keeps the buffers it was started with. Places and bytes are
// appended to, and replaced when they are full. Slots are replaced every time: a kernel with the old places and bytes must
// not find a code that lies behind their end.
class Mirror : public Dictionary::DeviceMirror {
  public:
    struct View {
        BufferRef slots, places, bytes;
        uint64_t mask = 0;
    };

    // The mirror, brought up to the dictionary's present size if that is worth it, or `wanted`; the copies are queued in
    // `stream_context`, and waited for.
    View view(StreamContext &streams, const Dictionary &dictionary, bool wanted) {
        std::lock_guard<std::mutex> lock(mutex_);
        if (!view_.slots || (mirrored_ < dictionary.size() && (wanted || missed_ >= dictionary.size())))
            update(streams, dictionary, view_.slots ? dictionary.size() : 0);
        return view_;
    }

    // So many texts were missing here that the dictionary had.
    void note_missed(uint64_t count) {
        std::lock_guard<std::mutex> lock(mutex_);
        missed_ += count;
    }

  private:
    void update(StreamContext &streams, const Dictionary &dictionary, uint32_t size) {
        std::vector<uint64_t> places;
        std::vector<uint8_t> text;
        hashes_.resize(mirrored_); // (an exception may have left more)
        for (uint32_t code = mirrored_; code < size; ++code) {
            const std::string_view entry = dictionary.entry(code);
            places.push_back((bytes_ + text.size()) | static_cast<uint64_t>(entry.size())
                                                          << decoding::place_offset_bits);
            text.insert(text.end(), entry.begin(), entry.end());
            hashes_.push_back(decoding::text_hash(reinterpret_cast<const uint8_t *>(entry.data()), 0,
                                                  static_cast<uint32_t>(entry.size()), mirror_key()));
        }
        View next = view_;
        next.mask = slots_for(size) - 1;
        try {
            next.slots = streams.memory().allocate((next.mask + 1) * sizeof(uint64_t));
            append(streams, next.places, static_cast<size_t>(mirrored_) * 8, places.data(), places.size() * 8);
            append(streams, next.bytes, bytes_, text.data(), text.size());
            fill_slots(next.mask, mirrored_);
            streams.copy_in(
                address_of(*next.slots),
                memcpy(streams.stage(host_slots_.size() * 8).data, host_slots_.data(), host_slots_.size() * 8),
                host_slots_.size() * 8);
            streams.wait(nullptr);
        } catch (...) {
            streams.drain(); // before the new buffers go
            throw;
        }
        view_ = next;
        bytes_ += text.size();
        mirrored_ = size;
        missed_ = 0;
    }

    static uint64_t slots_for(uint64_t entries) {
        uint64_t slots = 256;
        while (slots < 2 * entries)
            slots *= 2;
        return slots;
    }

    // Brings host_slots_ up to hashes_; `first`: the first code that is not there yet, unless the table grows.
    void fill_slots(uint64_t mask, uint32_t first) {
        if (host_slots_.size() != mask + 1 || slots_filled_ != first) {
            host_slots_.assign(mask + 1, 0);
            first = 0;
        }
        for (uint32_t code = first; code < hashes_.size(); ++code) {
            uint64_t slot = hashes_[code] & mask;
            while (host_slots_[slot] != 0)
                slot = (slot + 1) & mask;
            host_slots_[slot] = (hashes_[code] & 0xffffffff00000000ULL) | (code + 1);
        }
        slots_filled_ = static_cast<uint32_t>(hashes_.size());
    }

    static void append(StreamContext &streams, BufferRef &buffer, size_t used, const void *data, size_t size) {
        if (!buffer || used + size > buffer->size) {
            BufferRef larger = streams.memory().allocate(std::max<size_t>(65536, 2 * (used + size)));
            if (buffer && used > 0) {
                streams.copy_inside(address_of(*larger), address_of(*buffer), used);
                streams.wait(nullptr);
            }
            buffer = larger;
        }
        if (size > 0)
            streams.copy_in(address_of(*buffer) + used, memcpy(streams.stage(size).data, data, size), size);
    }

    std::mutex mutex_;
    View view_;
    uint32_t mirrored_ = 0;
    uint64_t missed_ = 0; // texts of the dictionary that were missing since the last update
    size_t bytes_ = 0;
    std::vector<uint64_t> hashes_;
    std::vector<uint64_t> host_slots_;
    uint32_t slots_filled_ = 0; // codes in host_slots_
};

std::shared_ptr<Mirror> mirror_of(Dictionary &dictionary) {
    static std::mutex mutex; // two sessions may ask for one dictionary's first mirror
    std::lock_guard<std::mutex> lock(mutex);
    std::shared_ptr<Mirror> mirror = std::dynamic_pointer_cast<Mirror>(dictionary.mirror());
    if (!mirror) {
        mirror = std::make_shared<Mirror>();
        dictionary.set_mirror(mirror);
    }
    return mirror;
}

// ---- the job -----------------------------------------------------------------------------------------------------

// The kernel writes whole values.
void check_alignment(const ColumnTarget &target) {
    if (reinterpret_cast<uintptr_t>(target.values->data) % type_width(target.layout->type) != 0)
        throw DeviceError("column buffer is not aligned");
}

class Job {
  public:
    Job(SharedState &state, const DecodeJob &job, DecodeResult &result, const std::atomic<uint32_t> *cancel)
        : state_(state), job_(job), result_(result), cancel_(cancel), streams_(state.stream_contexts->borrow()) {}

    void run() {
        uint64_t rows = 0;
        for (const PageRef &page : job_.pages)
            rows = std::max<uint64_t>(rows, static_cast<uint64_t>(page.row_start) + page.ntuples);
        for (const ColumnTarget &target : job_.columns) {
            check_column(target, rows);
            check_alignment(target);
        }
        result_.pages.assign(job_.pages.size(), PageStatus::Broken);
        result_.columns.assign(job_.columns.size(), ColumnStats());
        result_.dictionary_full = false;
        if (job_.pages.empty() && job_.zeros.empty())
            return;
        try {
            work();
        } catch (...) {
            streams_->drain();
            throw;
        }
    }

  private:
    void work() {
        numbered_.resize(job_.columns.size());
        module_ = state_.kernels->get(decode_source, cancel_, nullptr);
        function_ = module_->function("decode_pages");
        describe_columns();
        describe_pages();
        plan_memory();
        queue_zeros(state_, *streams_, job_.zeros);
        if (pages_.empty())
            streams_->wait(cancel_);
        std::vector<decoding::Page> todo = pages_;
        bool again = false;
        for (int idle = 0; !todo.empty(); again = true) {
            find_mirrors(again);
            decode(todo);
            const bool grew = number_misses();
            idle = grew ? 0 : idle + 1;
            todo.clear();
            for (const decoding::Page &page : pages_) {
                uint8_t &status = status_[page.number];
                if (status != decoding::status_missed)
                    continue;
                if (idle >= max_idle_rounds)
                    give_up(page, decoding::status_broken);
                else
                    todo.push_back(page);
            }
        }
        if (!cleared_.empty()) {
            launch(cleared_);
            queue_read();
            streams_->wait_for_long(cancel_);
        } else if (read_is_stale_) {
            queue_read();
            streams_->wait(cancel_);
        }
        if (read_piece_)
            result_.on_host.assign(static_cast<const uint8_t *>(read_piece_->data),
                                   static_cast<const uint8_t *>(read_piece_->data) + job_.wanted_on_host->size);
        for (size_t i = 0; i < status_.size(); ++i)
            result_.pages[i] = static_cast<PageStatus>(status_[i]);
        for (size_t c = 0; c < numbered_.size(); ++c)
            result_.columns[c].merge(numbered_[c]);
    }

    // Groups the columns into walks over one list of attributes each, longest first.
    void describe_columns() {
        std::vector<size_t> order(job_.columns.size());
        for (size_t i = 0; i < order.size(); ++i)
            order[i] = i;
        auto length = [&](size_t i) { return job_.columns[i].layout->attributes.size(); };
        std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return length(a) > length(b); });
        std::vector<std::vector<size_t>> groups;
        for (size_t i : order) {
            auto group = std::find_if(groups.begin(), groups.end(), [&](const std::vector<size_t> &g) {
                return is_prefix(job_.columns[i].layout->attributes, job_.columns[g.front()].layout->attributes);
            });
            if (group == groups.end())
                group = groups.insert(groups.end(), std::vector<size_t>());
            group->push_back(i);
        }
        for (std::vector<size_t> &group : groups) {
            decoding::Walk walk{};
            walk.attributes = static_cast<uint32_t>(attributes_.size());
            walk.first_column = static_cast<uint32_t>(columns_.size());
            walk.ncolumns = static_cast<uint32_t>(group.size());
            add_attributes(job_.columns[group.front()].layout->attributes);
            for (auto i = group.rbegin(); i != group.rend(); ++i)
                columns_.push_back(describe(*i));
            walks_.push_back(walk);
        }
    }

    void add_attributes(const std::vector<AttributeLayout> &layout) {
        uint32_t offset = 0;
        for (const AttributeLayout &a : layout) {
            decoding::Attribute attribute{a.length, a.align, 0, decoding::unknown_offset};
            if (offset != decoding::unknown_offset && a.length > 0) {
                offset = heap::align_up(offset, a.align);
                attribute.fixed = offset;
                offset += static_cast<uint32_t>(a.length);
            } else {
                offset = decoding::unknown_offset;
            }
            attributes_.push_back(attribute);
        }
    }

    decoding::Column describe(size_t index) {
        const ColumnTarget &target = job_.columns[index];
        const ColumnLayout &layout = *target.layout;
        decoding::Column c{};
        c.values = static_cast<uint8_t *>(target.values->data);
        c.nulls = static_cast<uint8_t *>(target.nulls->data);
        c.codec = static_cast<uint8_t>(layout.codec);
        c.type = static_cast<uint8_t>(layout.type);
        c.width = static_cast<uint8_t>(type_width(layout.type));
        c.missing_null = layout.missing_null;
        c.scale = layout.scale;
        const int128 limit = numeric_limit(layout);
        c.limit[0] = static_cast<uint64_t>(limit);
        c.limit[1] = static_cast<uint64_t>(limit >> 64);
        c.attribute = static_cast<uint32_t>(layout.attributes.size()) - 1;
        c.index = static_cast<uint32_t>(index);
        c.missing[0] = layout.missing_low;
        c.missing[1] = static_cast<uint64_t>(layout.missing_high);
        if (is_coded(layout.codec) && !layout.missing_null) {
            const uint32_t code = target.dictionary->intern(layout.missing_text);
            result_.dictionary_full |= code == Dictionary::full;
            c.missing[0] = code == Dictionary::full ? 0 : code;
        }
        return c;
    }

    // Pages inside the registered pool are read where they are; the others are copied to the device first.
    void describe_pages() {
        std::vector<const uint8_t *> copies;
        for (size_t i = 0; i < job_.pages.size(); ++i) {
            const PageRef &ref = job_.pages[i];
            decoding::Page page{};
            page.row_start = ref.row_start;
            page.ntuples = ref.ntuples;
            page.number = static_cast<uint32_t>(i);
            page.mask = decoding::no_mask;
            if (ref.mask) {
                page.mask = static_cast<uint32_t>(masks_.size());
                decoding::Mask mask;
                memcpy(mask.bits, ref.mask->bits, sizeof(mask.bits));
                masks_.push_back(mask);
            }
            const uintptr_t at = reinterpret_cast<uintptr_t>(ref.page);
            const uintptr_t pool = reinterpret_cast<uintptr_t>(state_.pool);
            if (state_.pool && at >= pool && at - pool + page_size <= state_.pool_bytes && at % 16 == 0) {
                page.bytes = reinterpret_cast<const uint8_t *>(state_.pool_address + (at - pool));
            } else {
                page.bytes = nullptr;
                copies.push_back(ref.page);
            }
            pages_.push_back(page);
        }
        status_.assign(pages_.size(), decoding::status_broken);
        if (copies.empty())
            return;
        copied_ = state_.memory->allocate(copies.size() * page_size);
        constexpr size_t batch = 1024; // 8 MB
        for (size_t start = 0; start < copies.size(); start += batch) {
            const size_t count = std::min(batch, copies.size() - start);
            PinnedMemory::Piece &piece = streams_->stage(count * page_size);
            for (size_t i = 0; i < count; ++i)
                memcpy(static_cast<uint8_t *>(piece.data) + i * page_size, copies[start + i], page_size);
            streams_->copy_in(address_of(*copied_) + start * page_size, piece.data, count * page_size);
            if (start / batch % 4 == 3)
                streams_->wait(cancel_); // gives the pinned pieces back
        }
        size_t copy = 0;
        for (decoding::Page &page : pages_)
            if (!page.bytes)
                page.bytes = static_cast<const uint8_t *>(copied_->data) + copy++ * page_size;
    }

    void find_mirrors(bool up_to_date) {
        views_.clear();
        for (decoding::Column &column : columns_) {
            Dictionary *const dictionary = job_.columns[column.index].dictionary;
            if (!is_coded(static_cast<Codec>(column.codec)))
                continue;
            const Mirror::View view = mirror_of(*dictionary)->view(*streams_, *dictionary, up_to_date);
            column.mirror.slots = static_cast<const uint64_t *>(view.slots->data);
            column.mirror.places = static_cast<const uint64_t *>(view.places->data);
            column.mirror.bytes = static_cast<const uint8_t *>(view.bytes->data);
            column.mirror.mask = view.mask;
            column.mirror.key = mirror_key();
            views_.push_back(view);
        }
    }

    // The job's memory on the device: what comes back (misses counted, statistics, statuses), then the descriptions.
    struct Place {
        size_t at = 0, size = 0;
    };
    template <class T> static Place place(size_t &end, size_t count) {
        const Place p = {end, count * sizeof(T)};
        end = (end + p.size + 15) / 16 * 16;
        return p;
    }

    void plan_memory() {
        size_t end = 0;
        count_at_ = place<uint64_t>(end, 1);
        stats_at_ = place<decoding::Stats>(end, job_.columns.size());
        status_at_ = place<uint8_t>(end, status_.size());
        results_size_ = end;
        pages_at_ = place<decoding::Page>(end, pages_.size());
        masks_at_ = place<decoding::Mask>(end, masks_.size());
        walks_at_ = place<decoding::Walk>(end, walks_.size());
        columns_at_ = place<decoding::Column>(end, columns_.size());
        attributes_at_ = place<decoding::Attribute>(end, attributes_.size());
        size_ = end;
        memory_ = streams_->scratch(size_);
        bool text = false;
        for (const decoding::Column &column : columns_)
            text = text || is_coded(static_cast<Codec>(column.codec));
        if (!text)
            return;
        miss_room_ = miss_room;
        misses_ = state_.memory->allocate(miss_room_ * sizeof(decoding::Miss));
    }

    // Decodes these pages; statuses, statistics and misses are on the host afterwards.
    void decode(const std::vector<decoding::Page> &pages) {
        launch(pages);
        PinnedMemory::Piece &results = result_piece(result_piece_, results_size_);
        streams_->copy_out(results.data, memory_, results_size_);
        queue_read();
        if (pages.size() <= few_pages)
            streams_->wait(cancel_);
        else
            streams_->wait_for_long(cancel_);
        const uint8_t *const bytes = static_cast<const uint8_t *>(results.data);
        memcpy(&nmisses_, bytes + count_at_.at, sizeof(nmisses_));
        for (const decoding::Page &page : pages) // of the others the device knows only what it found itself
            status_[page.number] = bytes[status_at_.at + page.number];
        for (size_t c = 0; c < job_.columns.size(); ++c) {
            decoding::Stats s;
            memcpy(&s, bytes + stats_at_.at + c * sizeof(s), sizeof(s));
            result_.columns[c].any_value = s.any_value != 0;
            result_.columns[c].any_null = s.any_null != 0;
            result_.columns[c].any_wide = s.any_wide != 0;
            result_.columns[c].min = s.min;
            result_.columns[c].max = s.max;
        }
    }

    // Queues the copy of what is wanted on the host: with the first results, since mostly nothing is written after them. (Nobody needs it:
    // without the memory for it there is none.)
    void queue_read() {
        if (job_.wanted_on_host == nullptr)
            return;
        try {
            result_piece(read_piece_, job_.wanted_on_host->size);
        } catch (const OutOfDeviceMemory &) {
            read_piece_ = nullptr;
            return;
        }
        streams_->copy_out(read_piece_->data, address_of(*job_.wanted_on_host), job_.wanted_on_host->size);
        read_is_stale_ = false;
    }

    template <class T> static void put(uint8_t *to, Place place, const std::vector<T> &values) {
        if (!values.empty())
            memcpy(to + place.at, values.data(), values.size() * sizeof(T));
    }

    // Statistics and statuses of earlier rounds stay as they are on the device.
    void upload(const std::vector<decoding::Page> &pages) {
        uint8_t *const to = static_cast<uint8_t *>(streams_->stage(size_).data);
        const size_t first = uploaded_ ? results_size_ : 0;
        if (uploaded_) {
            streams_->fill(memory_ + count_at_.at, 0, count_at_.size);
        } else {
            memset(to + count_at_.at, 0, count_at_.size);
            put(to, stats_at_, std::vector<decoding::Stats>(job_.columns.size(), {0, 0, 0, 0, INT64_MAX, INT64_MIN}));
            put(to, status_at_, status_);
        }
        put(to, pages_at_, pages);
        put(to, masks_at_, masks_);
        put(to, walks_at_, walks_);
        put(to, columns_at_, columns_);
        put(to, attributes_at_, attributes_);
        streams_->copy_in(memory_ + first, to + first, size_ - first);
        uploaded_ = true;
    }

    template <class T> T *at(Place place) const { return reinterpret_cast<T *>(memory_ + place.at); }

    void launch(const std::vector<decoding::Page> &pages) {
        upload(pages);
        decoding::Argument a{};
        a.masks = at<const decoding::Mask>(masks_at_);
        a.walks = at<const decoding::Walk>(walks_at_);
        a.columns = at<const decoding::Column>(columns_at_);
        a.attributes = at<const decoding::Attribute>(attributes_at_);
        a.stats = at<decoding::Stats>(stats_at_);
        a.status = at<uint8_t>(status_at_);
        a.misses = misses_ ? static_cast<decoding::Miss *>(misses_->data) : nullptr;
        a.nmisses = at<uint32_t>(count_at_);
        a.cancel = reinterpret_cast<const uint32_t *>(streams_->cancel_word());
        a.nwalks = static_cast<uint32_t>(walks_.size());
        a.ncolumns = static_cast<uint32_t>(job_.columns.size());
        a.miss_room = miss_room_;
        const size_t shared = decoding::shared_bytes + a.ncolumns * sizeof(decoding::Stats);
        if (shared > 48 * 1024)
            throw DeviceError("too many columns in one job");
        const unsigned grid = state_.full_grid(module_->blocks(function_, decoding::threads, shared));
        for (size_t start = 0; start < pages.size(); start += first_slice) {
            const size_t count = std::min<size_t>(first_slice, pages.size() - start);
            a.pages = at<const decoding::Page>(pages_at_) + start;
            a.npages = static_cast<uint32_t>(count);
            streams_->launch(function_, static_cast<unsigned>(std::min<size_t>(grid, count)), decoding::threads, shared,
                             &a);
        }
    }

    PinnedMemory::Piece &result_piece(std::unique_ptr<PinnedMemory::Piece> &piece, size_t bytes) {
        if (!piece || piece->size < bytes)
            piece = state_.pinned->allocate(bytes);
        return *piece;
    }

    // Has the listed texts numbered and their codes put into the rows. True when a dictionary grew.
    bool number_misses() {
        const size_t count = std::min<size_t>(nmisses_, miss_room_);
        if (count == 0)
            return false;
        PinnedMemory::Piece &piece = result_piece(miss_piece_, miss_room_ * sizeof(decoding::Miss));
        streams_->copy_out(piece.data, address_of(*misses_), count * sizeof(decoding::Miss));
        streams_->wait(cancel_);
        const decoding::Miss *const misses = static_cast<const decoding::Miss *>(piece.data);
        std::vector<std::vector<uint32_t>> by_column(job_.columns.size());
        for (size_t i = 0; i < count; ++i) {
            const decoding::Miss &miss = misses[i];
            if (miss.page < job_.pages.size() && miss.column < by_column.size() &&
                static_cast<size_t>(miss.offset) + miss.length <= page_size &&
                (status_[miss.page] == decoding::status_ok || status_[miss.page] == decoding::status_missed))
                by_column[miss.column].push_back(static_cast<uint32_t>(i));
        }
        std::vector<decoding::Code> codes;
        codes.reserve(count);
        bool grew = false;
        for (size_t c = 0; c < by_column.size(); ++c)
            grew |= number(c, misses, by_column[c], codes);
        put_codes(codes);
        return grew;
    }

    // What a thread has found for its texts of one column.
    struct Numbered {
        std::vector<decoding::Code> codes;
        std::vector<uint32_t> without; // pages of texts that the dictionary does not take
        ColumnStats stats;
    };

    // Those of one column, by some threads if there are very many.
    bool number(size_t c, const decoding::Miss *misses, const std::vector<uint32_t> &which,
                std::vector<decoding::Code> &codes) {
        if (which.empty())
            return false;
        Dictionary &dictionary = *job_.columns[c].dictionary;
        const uint32_t before = dictionary.size();
        const unsigned threads = threads_worth(which.size(), texts_at_once);
        std::vector<Numbered> parts(threads);
        in_slices(threads, which.size(), [&](unsigned thread, uint64_t first, uint64_t last) {
            for (uint64_t i = first; i < last; i += texts_at_once)
                number_some(c, misses, which.data() + i, std::min<uint64_t>(texts_at_once, last - i), parts[thread]);
        });
        for (const Numbered &part : parts) {
            codes.insert(codes.end(), part.codes.begin(), part.codes.end());
            numbered_[c].merge(part.stats);
            for (const uint32_t page : part.without) {
                result_.dictionary_full = true;
                if (status_[page] == decoding::status_ok || status_[page] == decoding::status_missed)
                    give_up(pages_[page], decoding::status_unrepresentable);
            }
        }
        const uint32_t added = dictionary.size() - before; // by others too
        mirror_of(dictionary)->note_missed(which.size() - std::min<size_t>(added, which.size()));
        return added > 0;
    }

    void number_some(size_t c, const decoding::Miss *misses, const uint32_t *which, size_t count, Numbered &to) const {
        if (cancel_ && cancel_->load(std::memory_order_relaxed))
            throw Cancelled();
        // Copied: the page may change between the dictionary's look and its copy, and an entry that stands under another
        // text's hash would be found by some and not by others: two codes for one text.
        std::vector<char> bytes;
        std::vector<Dictionary::Text> texts(count);
        auto at = [&](size_t i) {
            return reinterpret_cast<const char *>(job_.pages[misses[which[i]].page].page) + misses[which[i]].offset;
        };
        for (size_t i = 0; i < count; ++i) {
            if (i + read_ahead < count)
                __builtin_prefetch(at(i + read_ahead));
            texts[i].length = misses[which[i]].length;
            bytes.insert(bytes.end(), at(i), at(i) + texts[i].length);
        }
        const char *text = bytes.data();
        for (Dictionary::Text &t : texts) {
            t.data = text;
            t.hash = gpuscan::text_hash(text, t.length);
            text += t.length;
        }
        job_.columns[c].dictionary->intern_many(texts.data(), count);
        uint32_t *const values = static_cast<uint32_t *>(job_.columns[c].values->data);
        for (size_t i = 0; i < count; ++i) {
            const decoding::Miss &miss = misses[which[i]];
            if (texts[i].code == Dictionary::full) {
                to.without.push_back(miss.page);
                continue;
            }
            to.stats.any_value = true;
            to.stats.min = std::min<int64_t>(to.stats.min, texts[i].code);
            to.stats.max = std::max<int64_t>(to.stats.max, texts[i].code);
            to.codes.push_back({values + miss.row, texts[i].code, 0});
        }
    }

    // Rows of a miss are rows of its page: the kernel has written them already.
    void put_codes(const std::vector<decoding::Code> &codes) {
        if (codes.empty())
            return;
        const size_t bytes = codes.size() * sizeof(decoding::Code);
        if (!codes_ || codes_->size < bytes)
            codes_ = state_.memory->allocate(std::max(bytes, miss_room_ * sizeof(decoding::Code) / 4));
        streams_->copy_in(address_of(*codes_), memcpy(streams_->stage(bytes).data, codes.data(), bytes), bytes);
        decoding::PutArgument a{};
        a.codes = static_cast<const decoding::Code *>(codes_->data);
        a.count = static_cast<uint32_t>(codes.size());
        const CUfunction function = module_->function("put_codes");
        const unsigned blocks = (a.count + decoding::threads - 1) / decoding::threads;
        read_is_stale_ = job_.wanted_on_host != nullptr;
        streams_->launch(function, std::min(blocks, state_.full_grid(module_->blocks(function, decoding::threads, 0))),
                         decoding::threads, 0, &a);
        streams_->wait(cancel_);
    }

    void give_up(decoding::Page page, uint8_t status) {
        status_[page.number] = status;
        page.clear = 1;
        cleared_.push_back(page);
    }

    SharedState &state_;
    const DecodeJob &job_;
    DecodeResult &result_;
    const std::atomic<uint32_t> *cancel_;
    std::vector<decoding::Page> pages_, cleared_;
    std::vector<decoding::Mask> masks_;
    std::vector<decoding::Walk> walks_;
    std::vector<decoding::Column> columns_;
    std::vector<decoding::Attribute> attributes_;
    std::vector<uint8_t> status_;
    std::vector<Mirror::View> views_;   // keeps the buffers that the kernel reads
    std::vector<ColumnStats> numbered_; // bounds of the codes that the host has put into rows, by column
    BufferRef copied_, misses_, codes_;
    Place count_at_, stats_at_, status_at_, pages_at_, masks_at_, walks_at_, columns_at_, attributes_at_;
    size_t results_size_ = 0, size_ = 0;
    CUdeviceptr memory_ = 0; // the stream context's
    bool uploaded_ = false;
    std::unique_ptr<PinnedMemory::Piece> result_piece_, miss_piece_, read_piece_;
    bool read_is_stale_ = false; // codes of texts were written since the copy was queued
    uint32_t miss_room_ = 0;
    uint32_t nmisses_ = 0;
    ModuleRef module_;
    CUfunction function_ = nullptr;
    std::shared_ptr<StreamContext> streams_; // last: drained before anything it uses goes
};

} // namespace

void decode_pages(SharedState &state, const DecodeJob &job, DecodeResult &result, const std::atomic<uint32_t> *cancel) {
    Job(state, job, result, cancel).run();
}

} // namespace gpuscan::cuda
