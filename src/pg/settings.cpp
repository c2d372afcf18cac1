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

// ---- all settings ----

struct Setting {
    config_type type;
    const void *variable;
};

static Setting *settings = nullptr;
static int nsettings = 0;

// (Names that no library has defined are left out: each becomes another record when one does.)
static bool counts(const config_generic *setting) {
    return setting->group != LOGGING_WHAT && setting->group != LOGGING_WHEN && setting->group != LOGGING_WHERE &&
           (setting->flags & GUC_CUSTOM_PLACEHOLDER) == 0;
}

static void find_settings() {
    int count;
    config_generic **const all = all_settings(&count);
    settings = static_cast<Setting *>(MemoryContextAlloc(TopMemoryContext, sizeof(Setting) * static_cast<Size>(count)));
    for (int i = 0; i < count; ++i)
        if (counts(all[i]))
            settings[nsettings++] = Setting{all[i]->vartype, variable_of(all[i])};
}

static uint64 hash_of_string(const char *string) {
    if (string == nullptr)
        return 0;
    return hash_bytes_extended(reinterpret_cast<const unsigned char *>(string), static_cast<int>(strlen(string)), 1);
}

static uint64 value_of(const Setting &setting) {
    uint64 real;
    switch (setting.type) {
    case PGC_BOOL:
        return *static_cast<const bool *>(setting.variable);
    case PGC_INT:
    case PGC_ENUM:
        return static_cast<uint64>(*static_cast<const int *>(setting.variable));
    case PGC_REAL:
        memcpy(&real, setting.variable, sizeof real);
        return real;
    case PGC_STRING:
        return hash_of_string(*static_cast<const char *const *>(setting.variable));
    }
    return 0;
}

uint64 settings_hash() {
    if (settings == nullptr)
        find_settings();
    uint64 hash = 0;
    for (int i = 0; i < nsettings; ++i)
        hash = (hash ^ value_of(settings[i])) * 0x9E3779B97F4A7C15 + (hash >> 29);
    return hash;
}

} // namespace gpuscan
