// What is left to chance, by one generator for all: a seed decides everything.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <random>
#include <string>
#include <vector>

namespace fuzz {

using std::string;
using std::vector;

extern std::mt19937_64 engine;

int roll(int n); // 0 .. n - 1
bool chance(int percent);
template <class T> T pick(const vector<T> &from) {
    return from[static_cast<size_t>(roll(static_cast<int>(from.size())))];
}
string pick(std::initializer_list<const char *> from);
string number(int n);

} // namespace fuzz
