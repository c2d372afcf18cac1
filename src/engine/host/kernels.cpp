// Which inner loops this machine gets. GPUSCAN_KERNELS=base|avx2|avx512 in the environment asks for others (tests).
#include "engine/host/kernels.hpp"

#include <cstdlib>
#include <cstring>

namespace gpuscan::host {

namespace base {
extern const Kernels table;
}
#ifdef __x86_64__
namespace avx2 {
extern const Kernels table;
}
namespace avx512 {
extern const Kernels table;
}
#endif

static const Kernels &choose() {
#ifdef __x86_64__
    const char *wish = getenv("GPUSCAN_KERNELS");
    bool wide = wish == nullptr || strcmp(wish, "avx512") == 0;
    bool avx = wish == nullptr || strcmp(wish, "base") != 0;
    if (wide && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
        __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq"))
        return avx512::table;
    if (avx && __builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi2") && __builtin_cpu_supports("fma"))
        return avx2::table;
#endif
    return base::table;
}

const Kernels &kernels() {
    static const Kernels &chosen = choose();
    return chosen;
}

} // namespace gpuscan::host
