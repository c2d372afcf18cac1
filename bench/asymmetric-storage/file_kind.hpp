// What a file of a PostgreSQL server is, by its path: relations (all forks and segments, in base, global and tablespaces) and temporary
// files have names that no other file has (the server's storage/file/reinit.c and common/relpath.c).
#pragma once

#include <cstring>
#include <initializer_list>

namespace asymmetric_storage {

enum class FileKind { other, relation, temporary };

namespace detail {

inline bool is_digit(char c) { return c >= '0' && c <= '9'; }

inline bool skip_digits(const char *&p) {
    const char *from = p;
    while (is_digit(*p))
        ++p;
    return p != from;
}

// 16384, t3_16384 (of a session), either with _fsm, _vm or _init, and with .1 and so on for further segments.
inline bool names_relation(const char *p) {
    if (*p == 't') {
        ++p;
        if (!skip_digits(p) || *p++ != '_')
            return false;
    }
    if (!skip_digits(p))
        return false;
    if (*p == '_') {
        bool fork = false;
        for (const char *suffix : {"_fsm", "_vm", "_init"})
            if (std::strncmp(p, suffix, std::strlen(suffix)) == 0) {
                p += std::strlen(suffix);
                fork = true;
                break;
            }
        if (!fork)
            return false;
    }
    if (*p == '.') {
        ++p;
        if (!skip_digits(p))
            return false;
    }
    return *p == '\0' || std::strcmp(p, " (deleted)") == 0;
}

} // namespace detail

// `path` is absolute, as in /proc/self/fd.
inline FileKind file_kind(const char *path) {
    if (std::strstr(path, "/pgsql_tmp/"))
        return FileKind::temporary;
    const char *name = std::strrchr(path, '/');
    if (!name || !detail::names_relation(name + 1))
        return FileKind::other;
    // The folder: global, or a database's number in base or in PG_..., which a tablespace has for each version.
    const char *folder = name;
    while (folder > path && folder[-1] != '/')
        --folder;
    if (std::strncmp(folder, "global/", 7) == 0)
        return FileKind::relation;
    const char *p = folder;
    if (!detail::skip_digits(p) || p != name || folder == path)
        return FileKind::other;
    const char *above = folder - 1;
    while (above > path && above[-1] != '/')
        --above;
    return std::strncmp(above, "base/", 5) == 0 || std::strncmp(above, "PG_", 3) == 0 ? FileKind::relation
                                                                                      : FileKind::other;
}

} // namespace asymmetric_storage
