// Looking at a word for a moment before sleeping on it. Another thread of the same core goes on meanwhile.
#pragma once

namespace gpuscan {

inline void spin_pause() { __builtin_ia32_pause(); }

} // namespace gpuscan
