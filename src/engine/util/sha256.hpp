// SHA-256 (FIPS 180-4), for what must not be mistaken for anything else: a hash that is not cryptographic is no proof.
#pragma once

#include <array>
#include <cstdint>
#include <string>

namespace gpuscan {

using Sha256 = std::array<uint8_t, 32>;

Sha256 sha256(const std::string &bytes);

} // namespace gpuscan
