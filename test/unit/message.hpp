// A message of the protocol, as a client puts it together: each part begins at a multiple of 8 bytes.
#pragma once

#include <string>
#include <vector>

namespace gpuscan::test {

struct Message {
    std::string bytes;

    Message &raw(const void *from, size_t size) {
        bytes.resize((bytes.size() + 7) & ~size_t(7));
        bytes.append(static_cast<const char *>(from), size);
        return *this;
    }
    template <class T> Message &put(const T &value) { return raw(&value, sizeof value); }
    Message &text(const std::string &value) { return raw(value.data(), value.size()); }
    template <class T> Message &array(const std::vector<T> &values) {
        return raw(values.data(), values.size() * sizeof(T));
    }
};

} // namespace gpuscan::test
