// Which inner loops this machine gets. GPUSCAN_KERNELS=base|avx2|avx512 in the environment asks for others (tests).
#include <cstdlib>
#include <cstring>

#include "host/kernels/kernel_tables.hpp"

namespace gpuscan::host {

#ifdef __x86_64__
bool avx2::can_run() {
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi2") && __builtin_cpu_supports("fma");
}

bool avx512::can_run() {
    return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
           __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq");
}
#endif

static const Kernels &choose() {
#ifdef __x86_64__
    const char *wish = getenv("GPUSCAN_KERNELS");
    bool wide = wish == nullptr || strcmp(wish, "avx512") == 0;
    bool avx = wish == nullptr || strcmp(wish, "base") != 0;
    if (wide && avx512::can_run())
        return avx512::table;
    if (avx && avx2::can_run())
        return avx2::table;
#endif
    return base::table;
}

const Kernels &kernels() {
    static const Kernels &chosen = choose();
    return chosen;
}

} // namespace gpuscan::host
