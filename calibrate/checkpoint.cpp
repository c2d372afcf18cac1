#include "checkpoint.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

namespace calibrate {
namespace {

std::string reason() { return std::strerror(errno); }

std::string content_of(int file, const std::string &path) {
    std::string text;
    char buffer[65536];
    for (;;) {
        const ssize_t n = ::read(file, buffer, sizeof buffer);
        if (n == 0)
            return text;
        if (n > 0)
            text.append(buffer, static_cast<size_t>(n));
        else if (errno != EINTR)
            throw CheckpointError("cannot read " + path + ": " + reason());
    }
}

// The lines, and the size of what is whole.
std::pair<std::vector<Json>, size_t> parse(const std::string &text, const std::string &path) {
    std::vector<Json> lines;
    size_t begin = 0;
    for (size_t end; (end = text.find('\n', begin)) != std::string::npos; begin = end + 1) {
        Json line =
            Json::parse(text.begin() + static_cast<long>(begin), text.begin() + static_cast<long>(end), nullptr, false);
        if (!line.is_object() || !line.contains("type"))
            throw CheckpointError(path + ":" + std::to_string(lines.size() + 1) + ": no line of a calibration");
        lines.push_back(std::move(line));
    }
    if (lines.empty() || lines[0]["type"] != "calibration")
        throw CheckpointError(path + " is no calibration's file");
    return {std::move(lines), begin};
}

} // namespace

Checkpoint::Checkpoint(Checkpoint &&other) noexcept
    : path_(std::move(other.path_)), file_(std::exchange(other.file_, -1)), size_(other.size_),
      lines_(std::move(other.lines_)) {}

Checkpoint::~Checkpoint() {
    if (file_ >= 0)
        ::close(file_);
}

void Checkpoint::lock() {
    if (::flock(file_, LOCK_EX | LOCK_NB) != 0)
        throw CheckpointError(errno == EWOULDBLOCK ? path_ + " is in use by another gpuscan-calibrate"
                                                   : "cannot lock " + path_ + ": " + reason());
}

Checkpoint Checkpoint::create(const std::string &path) {
    const int file = ::open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (file < 0 && errno == EEXIST)
        throw CheckpointError(path + " exists already: go on with it by --resume, or choose another file by --out");
    if (file < 0)
        throw CheckpointError("cannot create " + path + ": " + reason());
    Checkpoint made(path, file);
    made.lock();
    return made;
}

Checkpoint Checkpoint::open(const std::string &path) {
    const int file = ::open(path.c_str(), O_RDWR | O_CLOEXEC);
    if (file < 0)
        throw CheckpointError("cannot open " + path + ": " + reason());
    Checkpoint opened(path, file);
    opened.lock();
    auto [lines, size] = parse(content_of(file, path), path);
    opened.lines_ = std::move(lines);
    opened.size_ = size;
    if (::ftruncate(file, static_cast<off_t>(size)) != 0 || ::lseek(file, 0, SEEK_END) < 0)
        throw CheckpointError("cannot write " + path + ": " + reason());
    return opened;
}

std::vector<Json> Checkpoint::read(const std::string &path) {
    const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
    if (file < 0)
        throw CheckpointError("cannot open " + path + ": " + reason());
    const Checkpoint opened(path, file);
    return parse(content_of(file, path), path).first;
}

void Checkpoint::append(const Json &line, bool durable) {
    const std::string text = line.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
    size_t written = 0;
    while (written < text.size()) {
        const ssize_t n = ::write(file_, text.data() + written, text.size() - written);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0) {
            const std::string why = reason();
            // Half a line would end the file; cutting it off needs no room.
            if (written > 0 && (::ftruncate(file_, static_cast<off_t>(size_)) != 0 || ::lseek(file_, 0, SEEK_END) < 0))
                throw CheckpointError("cannot write " + path_ + ": " + why + "; its last line is not whole");
            throw CheckpointError("cannot write " + path_ + ": " + why);
        }
        written += static_cast<size_t>(n);
    }
    if (durable && ::fsync(file_) != 0 && errno != EINVAL &&
        errno != EROFS) // (EINVAL: no file that could be, such as a pipe)
        throw CheckpointError("cannot bring " + path_ + " to the disk: " + reason());
    size_ += text.size();
}

} // namespace calibrate
