// Which relation's rows: the file that they are in.
#pragma once

#include <cstdint>
#include <tuple>

namespace gpuscan {

// RelFileLocator.
struct RelationFile {
    uint32_t tablespace = 0, database = 0, relation = 0;
    bool operator<(const RelationFile &o) const {
        return std::tie(tablespace, database, relation) < std::tie(o.tablespace, o.database, o.relation);
    }
    bool operator==(const RelationFile &o) const {
        return std::tie(tablespace, database, relation) == std::tie(o.tablespace, o.database, o.relation);
    }
};

} // namespace gpuscan
