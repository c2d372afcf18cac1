// The device headers (src/device/*.cuh), carried inside the library so that NVRTC can include them at run time by the
// names the host compiler knows them under, such as "device/runtime.cuh". The build writes the definitions
// (script/embed.sh).
#pragma once

namespace gpuscan {

struct EmbeddedSource {
    const char *name; // path from src/
    const char *text;
};

extern const EmbeddedSource embedded_sources[]; // ends with a null name
extern const unsigned embedded_source_count;

} // namespace gpuscan
