// Reading one column's definition: its layout, checked, and the bytes by which a cached column is recognised.
#pragma once

#include <string>
#include <utility>

#include "engine/server/message.hpp"
#include "engine/server/protocol.hpp"

namespace gpuscan {

// The next column of a DefineSource message. The first is its key: the whole definition, byte by byte.
std::pair<std::string, ColumnLayout> read_column(MessageReader &in);

} // namespace gpuscan
