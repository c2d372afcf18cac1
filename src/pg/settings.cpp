#include "pg/settings.h"

namespace gpuscan {

void set_for_now(const char *setting, const char *value) {
    (void)set_config_option(setting, value, PGC_USERSET, PGC_S_SESSION, GUC_ACTION_SAVE, true, 0, false);
}

void set_for_now(const char *setting, double value) {
    char text[32];
    snprintf(text, sizeof text, "%.17g", value);
    set_for_now(setting, text);
}

static void send_errors_only(const char *setting) {
    const char *level = GetConfigOption(setting, true, false);
    if (level != nullptr && strcmp(level, "fatal") != 0 && strcmp(level, "panic") != 0)
        (void)set_config_option(setting, "error", PGC_SUSET, PGC_S_SESSION, GUC_ACTION_SAVE, true, 0, false);
}

void send_errors_only_for_now() {
    send_errors_only("client_min_messages");
    send_errors_only("log_min_messages");
}

} // namespace gpuscan
