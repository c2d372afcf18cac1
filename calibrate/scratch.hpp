// The tables that measure makes, fills, and drops again: in a schema of their own, which carries a comment that says so. What an earlier
// measurement left behind that could not drop it (kill -9, a lost server) is dropped first; a schema of that name that somebody else made
// is not touched.
//
// A role that may not create a schema gets temporary tables: good for PostgreSQL's own rates, while devices keep no columns of them.
#pragma once

#include <cstddef>
#include <string>

#include "progress.hpp"
#include "session.hpp"

namespace calibrate {

constexpr char scratch_schema[] = "gpuscan_calibrate_scratch";

class Scratch {
  public:
    enum class Kind { None, Temporary, Schema };

    // Drops what was left, and finds out what is allowed. `rows`: of the largest table; 0: as many as fit into a quarter of
    // shared_buffers, a million at most.
    Scratch(Session &session, size_t rows);
    Scratch(const Scratch &) = delete;
    Scratch &operator=(const Scratch &) = delete;
    ~Scratch(); // drops, whatever has happened

    Kind kind() const { return kind_; }
    const std::string &why() const { return why_; } // why there are none, or temporary ones only
    size_t rows() const { return rows_; }
    // Creates, fills, vacuums and analyzes.
    void fill(Progress &progress);
    // Whether the tables' pages are all-visible: false if another session's old snapshot keeps VACUUM from marking them.
    bool is_visible() const { return visible_; }
    // For the beginning of a statement: names are found.
    std::string path() const;

  private:
    void drop();

    Session &session_;
    size_t rows_, spread_rows_;
    Kind kind_ = Kind::None;
    std::string why_;
    bool made_ = false, visible_ = false;
};

// The shape of the tables, for those who count: rows of `dims`, of `mixed` and of `tiny`.
size_t dims_rows(size_t rows);
size_t mixed_rows(size_t rows);
constexpr size_t tiny_rows = 20;

} // namespace calibrate
