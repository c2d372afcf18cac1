// How a profile writes the name of an enumerator: MemorySeqRead as memory_seq_read.
#pragma once

#include <cctype>
#include <string>

namespace gpuscan {

inline std::string profile_name(const std::string &enumerator) {
    std::string name;
    for (const char c : enumerator) {
        if (isupper(static_cast<unsigned char>(c)) && !name.empty())
            name += '_';
        name += static_cast<char>(tolower(c));
    }
    return name;
}

} // namespace gpuscan
