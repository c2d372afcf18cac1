// A calibration's file: one JSON object in each line, appended and brought to the disk (fsync) before anything is built on it. It holds
// everything: what was asked for, each execution, the walk, the result, and what apply has replaced. So what was stopped goes on, and
// a report needs no server.
//
// A line that was being written when the machine or the client died has no end; it is cut off when the file is opened again.
#pragma once

#include <cstddef>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <vector>

namespace calibrate {

using Json = nlohmann::ordered_json;

struct CheckpointError : std::runtime_error {
    using std::runtime_error::runtime_error;
};

class Checkpoint {
  public:
    // Throw CheckpointError: it exists already (create), it is none (open), another client has it, no room.
    static Checkpoint create(const std::string &path);
    static Checkpoint open(const std::string &path);
    // The lines alone, while another client may be writing.
    static std::vector<Json> read(const std::string &path);

    Checkpoint(Checkpoint &&other) noexcept;
    Checkpoint(const Checkpoint &) = delete;
    Checkpoint &operator=(const Checkpoint &) = delete;
    ~Checkpoint();

    const std::string &path() const { return path_; }
    bool empty() const { return size_ == 0; }
    // What was in it when it was opened.
    const std::vector<Json> &lines() const { return lines_; }

    // A line, on the disk when this returns; those that are not `durable` reach it with the next one that is. Throws CheckpointError;
    // the file is then what it was before.
    void append(const Json &line, bool durable = true);

  private:
    Checkpoint(std::string path, int file) : path_(std::move(path)), file_(file) {}
    void lock();

    std::string path_;
    int file_;
    size_t size_ = 0;
    std::vector<Json> lines_;
};

} // namespace calibrate
