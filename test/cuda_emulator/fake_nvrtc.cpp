// A stand-in for libnvrtc.so.13 that compiles kernels with g++ for the emulator (fake_cuda.cpp).
//
// The "machine code" is a shared library with a small header. GPUSCAN_EMULATOR_DIR holds kernel_shim.hpp,
// GPUSCAN_EMULATOR_FLAGS options of g++: with "-O0 -DGPUSCAN_QUICK=1" all kernels are what a first execution compiles.
#include <signal.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <fstream>
#include <mutex>
#include <regex>
#include <sstream>
#include <string>
#include <vector>

struct Program {
    std::string source, image, log;
    std::vector<std::string> names, texts;
};

static std::string adapt(std::string text) {
    return std::regex_replace(text, std::regex("extern __shared__ (\\w+) (\\w+)\\[\\]"),
                              "static $1 $2[65536 / sizeof($1)] __attribute__((aligned(16)))");
}

static std::string read_all(const std::string &path) {
    std::ifstream file(path, std::ios::binary);
    std::stringstream text;
    text << file.rdbuf();
    return text.str();
}

extern "C" {

int nvrtcVersion(int *major, int *minor) {
    *major = 13;
    *minor = 99;
    return 0;
}
const char *nvrtcGetErrorString(int) { return "emulated compilation failed"; }
int nvrtcGetNumSupportedArchs(int *n) {
    *n = 1;
    return 0;
}
int nvrtcGetSupportedArchs(int *a) {
    *a = 90;
    return 0;
}
int nvrtcCreateProgram(Program **out, const char *source, const char *, int n, const char *const *texts,
                       const char *const *names) {
    *out = new Program;
    (*out)->source = source;
    for (int i = 0; i < n; ++i) {
        (*out)->names.push_back(names[i]);
        (*out)->texts.push_back(texts[i]);
    }
    return 0;
}
int nvrtcDestroyProgram(Program **p) {
    delete *p;
    *p = nullptr;
    return 0;
}
int nvrtcCompileProgram(Program *p, int, const char *const *) {
    signal(SIGCHLD, SIG_DFL); // the device process ignores it, and then system() does not learn how a command ended
    char directory[] = "/tmp/gpuscan-emulator-XXXXXX";
    if (!mkdtemp(directory))
        return 1;
    const std::string d = directory;
    const char *shim = getenv("GPUSCAN_EMULATOR_DIR");
    std::string all = p->source;
    for (size_t i = 0; i < p->names.size(); ++i) {
        const std::string path = d + "/" + p->names[i];
        if (system(("mkdir -p $(dirname " + path + ")").c_str()) != 0)
            return 1;
        std::ofstream(path) << adapt(p->texts[i]);
        if (p->source.find(p->names[i]) != std::string::npos)
            all += p->texts[i];
    }
    std::string text = adapt(p->source);
    const std::regex kernel("extern \"C\" __global__ void (__launch_bounds__\\(\\d+\\) )?(\\w+)\\(");
    const std::regex scan("\nGPUSCAN_SCAN\\((\\w+),"); // three kernels (device/scan.cuh)
    std::vector<std::string> kernels;
    for (std::sregex_iterator it(all.begin(), all.end(), kernel), end; it != end; ++it)
        kernels.push_back((*it)[2]);
    for (std::sregex_iterator it(all.begin(), all.end(), scan), end; it != end; ++it)
        for (const char *step : {"_tiles", "_totals", "_rows"})
            kernels.push_back((*it)[1].str() + step);
    for (const std::string &name : kernels) {
        const bool fixed = p->source.find("void") == std::string::npos;
        const std::string scope = !fixed                                                 ? ""
                                  : p->source.find("tables") != std::string::npos        ? "gpuscan::tables::"
                                  : p->source.find("pack") != std::string::npos          ? "gpuscan::packing::"
                                  : p->source.find("masks") != std::string::npos         ? "gpuscan::masks::"
                                  : p->source.find("measure") != std::string::npos       ? "gpuscan::measuring::"
                                  : p->source.find("windows") != std::string::npos       ? "gpuscan::windows::"
                                  : p->source.find("group_columns") != std::string::npos ? "gpuscan::group_columns::"
                                                                                         : "gpuscan::decoding::";
        text +=
            "\nextern \"C\" void emulated_call_" + name + "(void *a) { emulator::call(" + scope + name + ", a); }\n";
        text += "extern \"C\" void emulated_" + name +
                "(unsigned grid, unsigned rows, unsigned threads, void *a) { emulator::run(emulated_call_" + name +
                ", grid, rows, threads, a); }\n";
    }
    std::ofstream(d + "/kernel.cpp") << text;
    const char *flags = getenv("GPUSCAN_EMULATOR_FLAGS");
    const std::string command = std::string("g++ -std=gnu++17 -w -fPIC -shared -fno-strict-aliasing -fwrapv "
                                            "-ffp-contract=off -Wl,-z,now ") +
                                (flags ? flags : "-O0") + " -include " + (shim ? shim : ".") + "/kernel_shim.hpp -I" +
                                d + " -o " + d + "/kernel.so " + d + "/kernel.cpp >" + d + "/log 2>&1";
    const int status = system(command.c_str());
    p->log = read_all(d + "/log");
    if (status == 0) {
        const std::string library = read_all(d + "/kernel.so");
        const uint64_t size = library.size();
        p->image = "EMULATED" + std::string(reinterpret_cast<const char *>(&size), 8) + library;
    }
    if (!getenv("GPUSCAN_EMULATOR_KEEP"))
        (void)!system(("rm -rf " + d).c_str());
    return status == 0 ? 0 : 6;
}
int nvrtcGetProgramLogSize(Program *p, size_t *n) {
    *n = p->log.size() + 1;
    return 0;
}
int nvrtcGetProgramLog(Program *p, char *to) {
    memcpy(to, p->log.c_str(), p->log.size() + 1);
    return 0;
}
int nvrtcGetCUBINSize(Program *p, size_t *n) {
    *n = p->image.size();
    return 0;
}
int nvrtcGetCUBIN(Program *p, char *to) {
    memcpy(to, p->image.data(), p->image.size());
    return 0;
}
int nvrtcGetPTXSize(Program *, size_t *) { return 1; }
int nvrtcGetPTX(Program *, char *) { return 1; }
}
