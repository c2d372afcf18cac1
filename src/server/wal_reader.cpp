// Reading records of WAL; see wal_reader.hpp.
#include "server/wal_reader.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <utility>

namespace gpuscan {
namespace {

constexpr uint64_t page_bytes = wal_page_bytes;
constexpr uint64_t no_page = 1;
constexpr uint32_t record_head = 24, page_head = 24, segment_head = 40;
constexpr uint32_t longest_record = 1020u << 20; // XLogRecordMaxSize

// Of a page's head.
constexpr size_t flags_at = 2, address_at = 8, rest_at = 16;
constexpr uint16_t begins_with_a_rest = 1;
// Of a record's.
constexpr size_t before_at = 8, info_at = 16, manager_at = 17;
constexpr uint8_t log_manager = 0, transaction_manager = 1, storage_manager = 2; // RM_XLOG_ID, RM_XACT_ID, RM_SMGR_ID
constexpr uint8_t heap_manager = 9; // RM_HEAP2_ID, whose operations from XLOG_HEAP2_PRUNE to XLOG_HEAP2_VISIBLE tidy up
constexpr uint8_t heap_operation = 0x70, first_tidying = 0x10, last_tidying = 0x40;
constexpr uint8_t image_for_hints = 0xa0; // XLOG_FPI_FOR_HINT
constexpr uint8_t info_bits = 0xf0, switches_segment = 0x40, makes_file = 0x10;
constexpr uint8_t changes_files = 0x01; // XLR_SPECIAL_REL_UPDATE

// Heads within a record.
constexpr uint8_t max_block_id = 32;
constexpr uint8_t short_data = 255, long_data = 254, origin = 253, toplevel_transaction = 252;
constexpr uint8_t fork_bits = 0x0f, has_image = 0x10, same_relation = 0x80;
constexpr uint8_t image_has_hole = 0x01, image_is_compressed = 0x1c;

template <class T> T value_at(const uint8_t *bytes, size_t at) {
    T value;
    memcpy(&value, bytes + at, sizeof value);
    return value;
}

} // namespace

// The bytes of one record, without the heads of pages.
class WalReader::Bytes {
  public:
    Bytes(WalReader &reader, uint64_t at, uint64_t to) : reader_(reader), at_(at), to_(to) {}

    // False: there are not so many before the end, or something else stands there (is_broken()).
    bool take(void *to, size_t count) {
        auto *out = static_cast<uint8_t *>(to);
        while (count > 0) {
            enter_page();
            if (at_ >= to_)
                return false;
            const uint8_t *const page = reader_.page(at_ - at_ % page_bytes, to_);
            if (page == nullptr) {
                broken_ = true;
                return false;
            }
            const size_t here = std::min<uint64_t>({count, page_bytes - at_ % page_bytes, to_ - at_});
            memcpy(out, page + at_ % page_bytes, here);
            out += here;
            at_ += here;
            count -= here;
        }
        return true;
    }
    template <class T> bool take(T *value) { return take(value, sizeof *value); }
    // Where so many more bytes end.
    void skip(uint64_t count) {
        while (count > 0) {
            enter_page();
            const uint64_t here = std::min(count, page_bytes - at_ % page_bytes);
            at_ += here;
            count -= here;
        }
    }
    uint64_t at() const { return at_; }
    bool is_broken() const { return broken_; }

    void enter_page() {
        if (at_ % page_bytes == 0)
            at_ += at_ % reader_.segment_size_ == 0 ? segment_head : page_head;
    }

  private:
    WalReader &reader_;
    uint64_t at_;
    const uint64_t to_;
    bool broken_ = false;
};

WalReader::WalReader(std::string directory, const WalPosition &from)
    : directory_(std::move(directory)), timeline_(from.timeline), segment_size_(from.segment_size),
      position_(from.end) {}

WalReader::~WalReader() { close_file(); }

void WalReader::close_file() {
    if (file_ >= 0)
        close(file_);
    file_ = -1;
    page_at_ = no_page;
}

std::string WalReader::segment_name(uint64_t segment) const {
    const uint64_t of_name = (uint64_t(1) << 32) / segment_size_;
    char name[32];
    snprintf(name, sizeof name, "/%08X%08X%08X", timeline_, static_cast<uint32_t>(segment / of_name),
             static_cast<uint32_t>(segment % of_name));
    return directory_ + name;
}

// What has been read of the file was of its segment: nobody had used it again.
bool WalReader::is_file_in_place() const {
    struct stat opened, named;
    return file_ < 0 || (fstat(file_, &opened) == 0 && stat(segment_name(segment_).c_str(), &named) == 0 &&
                         opened.st_ino == named.st_ino && opened.st_dev == named.st_dev);
}

bool WalReader::open_segment(uint64_t at) {
    const uint64_t segment = at / segment_size_;
    if (file_ >= 0 && segment == segment_)
        return true;
    if (!is_file_in_place())
        return false;
    close_file();
    file_ = open(segment_name(segment).c_str(), O_RDONLY | O_CLOEXEC);
    segment_ = segment;
    return file_ >= 0;
}

// The page of WAL at this address, of which the bytes before `to` are there; nullptr: it is not in its file.
const uint8_t *WalReader::page(uint64_t at, uint64_t to) {
    if (at == page_at_ && std::min(to, at + page_bytes) <= bytes_end_)
        return bytes_;
    page_at_ = no_page;
    if (!open_segment(at) ||
        pread(file_, bytes_, page_bytes, static_cast<off_t>(at % segment_size_)) != ssize_t(page_bytes) ||
        value_at<uint64_t>(bytes_, address_at) != at)
        return nullptr;
    ++pages_read_;
    page_at_ = at;
    bytes_end_ = std::min(to, at + page_bytes);
    return bytes_;
}

// The first record that begins on the page. True, and nothing found: the page is not there yet.
bool WalReader::find_first(uint64_t to) {
    Bytes bytes(*this, position_ - position_ % page_bytes, to);
    const uint64_t at = bytes.at();
    bytes.enter_page();
    if (bytes.at() > to)
        return true;
    const uint8_t *const head = page(at, to);
    if (head == nullptr)
        return false;
    if ((value_at<uint16_t>(head, flags_at) & begins_with_a_rest) != 0)
        bytes.skip(value_at<uint32_t>(head, rest_at));
    position_ = first_ = (bytes.at() + 7) / 8 * 8;
    return true;
}

static bool tidies_up(uint8_t manager, uint8_t info) {
    const uint8_t operation = info & heap_operation;
    return (manager == heap_manager && operation >= first_tidying && operation <= last_tidying) ||
           (manager == log_manager && (info & info_bits) == image_for_hints);
}

// Heads come first, then the data of which they tell the length: `left` bytes in all. False: these are no heads.
bool WalReader::tell_blocks(Bytes &record, uint64_t left, uint64_t end, bool tidies, const Tell &tell) {
    uint64_t data = 0;
    const auto take = [&](auto *value) {
        if (left < data + sizeof *value || !record.take(value))
            return false;
        left -= sizeof *value;
        return true;
    };
    WalReference block = {};
    block.end = end;
    block.tidies = tidies;
    bool any_relation = false;
    while (left > data) {
        uint8_t id, byte;
        uint16_t word;
        uint32_t number;
        if (!take(&id))
            return false;
        if (id == short_data || id == long_data) {
            if (id == short_data ? !take(&byte) : !take(&number))
                return false;
            data += id == short_data ? byte : number;
        } else if (id == origin || id == toplevel_transaction) {
            if (id == origin ? !take(&word) : !take(&number))
                return false;
        } else {
            uint8_t flags;
            if (id > max_block_id || !take(&flags) || !take(&word))
                return false;
            data += word;
            if ((flags & has_image) != 0) {
                uint16_t hole;
                if (!take(&word) || !take(&hole) || !take(&byte))
                    return false;
                data += word;
                if ((byte & image_is_compressed) != 0 && (byte & image_has_hole) != 0 && !take(&hole))
                    return false;
            }
            if ((flags & same_relation) == 0 &&
                (!take(&block.tablespace) || !take(&block.database) || !take(&block.relation)))
                return false;
            any_relation = any_relation || (flags & same_relation) == 0;
            if (!any_relation || !take(&block.block))
                return false;
            block.fork = flags & fork_bits;
            tell(block);
        }
    }
    return left == data;
}

// Of a record that changes files, behind its heads. (A transaction's end removes some. They are not made again without such a record.)
bool WalReader::tell_files(Bytes &record, uint8_t manager, uint8_t info, uint64_t end, const Tell &tell) {
    if ((info & changes_files) == 0 || manager == transaction_manager)
        return true;
    WalReference file = {0, 0, 0, 0, WalReference::whole_file, end, false};
    if (manager == storage_manager) {
        const bool made = (info & info_bits) == makes_file;
        uint32_t block; // from which on a file is cut off
        if ((!made && !record.take(&block)) || !record.take(&file.tablespace) || !record.take(&file.database) ||
            !record.take(&file.relation) || (made && !record.take(&file.fork)))
            return false;
    }
    tell(file);
    return true;
}

bool WalReader::read(uint64_t to, const Tell &tell) { return read_records(to, tell) && is_file_in_place(); }

bool WalReader::read_records(uint64_t to, const Tell &tell) {
    if (first_ == 0 && !find_first(to))
        return false;
    while (first_ != 0) {
        Bytes record(*this, (position_ + 7) / 8 * 8, to);
        record.enter_page();
        const uint64_t begin = record.at();
        uint8_t head[record_head];
        if (!record.take(head, sizeof head))
            return !record.is_broken();
        const uint32_t length = value_at<uint32_t>(head, 0);
        if (length < record_head || length > longest_record ||
            (before_ != 0 && value_at<uint64_t>(head, before_at) != before_))
            return false;
        Bytes rest = record;
        rest.skip(length - record_head);
        if (rest.at() > to) // its end will come
            return true;
        const uint8_t manager = head[manager_at], info = head[info_at];
        const uint64_t end = (rest.at() + 7) / 8 * 8;
        if (!tell_blocks(record, length - record_head, end, tidies_up(manager, info), tell) ||
            !tell_files(record, manager, info, end, tell))
            return false;
        const bool switches = manager == log_manager && (info & info_bits) == switches_segment;
        before_ = begin;
        position_ = switches ? (rest.at() + segment_size_ - 1) / segment_size_ * segment_size_ : rest.at();
        ++records_;
    }
    return true;
}

} // namespace gpuscan
