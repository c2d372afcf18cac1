#include "interrupt.hpp"

#include <signal.h>
#include <unistd.h>

namespace calibrate {
namespace {

volatile sig_atomic_t count = 0;

extern "C" void on_signal(int signal) {
    count = count + 1;
    if (count > 1)
        _exit(128 + signal);
}

} // namespace

void catch_interrupts() {
    struct sigaction action = {};
    action.sa_handler = on_signal; // without SA_RESTART: poll() returns
    for (int signal : {SIGINT, SIGTERM, SIGHUP})
        sigaction(signal, &action, nullptr);
    action.sa_handler = SIG_IGN; // a file that may not grow is an error of write()
    sigaction(SIGXFSZ, &action, nullptr);
}

bool interrupted() { return count > 0; }

void check_interrupt() {
    if (interrupted())
        throw Interrupted();
}

} // namespace calibrate
