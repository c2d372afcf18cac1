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

} // namespace gpuscan
