#include "draw.hpp"

namespace fuzz {

std::mt19937_64 engine;

int roll(int n) { return static_cast<int>(engine() % static_cast<uint64_t>(n)); }
bool chance(int percent) { return roll(100) < percent; }
string pick(std::initializer_list<const char *> from) { return *(from.begin() + roll(static_cast<int>(from.size()))); }
string number(int n) { return std::to_string(n); }

} // namespace fuzz
