// A kernel in a file of the cache on disk: its machine code, and what proves that it is the code of a certain source.
//
// The key is a hash that is fast to compute, and no proof. So the file also has the source's length and SHA-256, and those of
// the machine code. A file of which anything does not agree is no file: the kernel is compiled and written again.
#pragma once

#include <cstdint>
#include <string>
#include <utility>

namespace gpuscan::cuda {

using KernelKey = std::pair<uint64_t, uint64_t>;

std::string make_kernel_file(KernelKey key, const std::string &source, const std::string &image);
// False: the file's bytes are not those of this kernel, or not whole.
bool read_kernel_file(const std::string &bytes, KernelKey key, const std::string &source, std::string &image);

} // namespace gpuscan::cuda
