// Reading one column's definition: its layout, checked, and the bytes by which a cached column is recognised.
#pragma once

#include <string>

#include "server/message.hpp"
#include "server/protocol.hpp"

namespace gpuscan {

struct ColumnDefinition {
    std::string key; // the whole definition, byte by byte
    ColumnLayout layout;
    std::string dictionary; // the name of the one that a text column shares, "": it has its own
};

// The next column of a DefineSource message.
ColumnDefinition read_column(MessageReader &in);

} // namespace gpuscan
