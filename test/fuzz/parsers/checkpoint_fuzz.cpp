// libFuzzer target for a calibration's file: any bytes. What is accepted can be gone on with: its lines stay, and another one follows.
#include <sys/mman.h>
#include <unistd.h>

#include "calibrate/checkpoint.hpp"
#include "fuzz_input.hpp"

using namespace gpuscan;
using calibrate::Checkpoint;

extern "C" int LLVMFuzzerInitialize(int *, char ***) {
    if (fuzz::corpus())
        fuzz::write_input(
            "checkpoint",
            "{\"type\":\"calibration\",\"version\":1}\n{\"type\":\"walk\",\"x\":[1.5,null,\"a\"]}\n{\"half");
    return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    const int file = memfd_create("checkpoint", MFD_CLOEXEC);
    fuzz::require(file >= 0 && write(file, data, size) == static_cast<ssize_t>(size), "no file");
    const std::string path = "/proc/self/fd/" + std::to_string(file);
    try {
        size_t lines = 0;
        {
            Checkpoint opened = Checkpoint::open(path);
            lines = opened.lines().size();
            opened.append({{"type", "more"}}, false);
        }
        fuzz::require(Checkpoint::read(path).size() == lines + 1, "the lines are others");
    } catch (const calibrate::CheckpointError &) {
    }
    close(file);
    return 0;
}
