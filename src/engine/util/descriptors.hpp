// Closing what a forked child has inherited: sockets and files of its parent, which would live as long as the child does.
#pragma once

namespace gpuscan {

// Closes every file descriptor from `first` on but `kept` (-1: none is kept). Safe between fork and exec.
void close_descriptors(int first, int kept = -1);

} // namespace gpuscan
