// Reading a profile; see profile.h and engine/cost/tier_profile.hpp. The supervisor works in the data directory, and so does its child.
#include "pg/pg.h"

#include "pg/service/profile.h"

#include <fcntl.h>
#include <unistd.h>

#include "engine/cost/tier_profile.hpp"
#include "pg/guc.h"

namespace gpuscan {

constexpr int max_notes = 10;
constexpr Size max_bytes = 256 * 1024;

// The file's text in `text`, of at most max_bytes; -1 with errno set.
static ssize_t read_file(const char *path, char *text) {
    const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0)
        return -1;
    Size size = 0;
    ssize_t got = 1;
    while (size < max_bytes && (got = read(fd, text + size, max_bytes - size)) != 0) {
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            break;
        size += static_cast<Size>(got);
    }
    const int error = size >= max_bytes ? EFBIG : errno;
    close(fd);
    errno = error;
    return got < 0 || size >= max_bytes ? -1 : static_cast<ssize_t>(size);
}

static void tell(const char *path, const tier::ProfileNote *notes, int count) {
    for (int i = 0; i < count; i++)
        ereport(WARNING, (errcode(ERRCODE_CONFIG_FILE_ERROR),
                          errmsg("gpuscan profile \"%s\", line %d: %s", path, notes[i].line, notes[i].text),
                          notes[i].error ? errdetail("Default costs are used.") : errdetail("It is ignored.")));
}

static void publish_defaults(protocol::Area *area) {
    if (area->profile.generation() != 0)
        area->profile.publish(tier::default_profile());
}

static void publish_text(protocol::Area *area, const char *path, const char *text, Size size) {
    tier::Profile profile;
    tier::ProfileNote notes[max_notes];
    int count = 0;
    (void)tier::parse_profile(text, size, &profile, notes, max_notes, &count);
    tell(path, notes, count);
    area->profile.publish(profile);
}

static void ask_for_measurement(protocol::Area *area, const char *path) {
    if (strlen(path) >= sizeof area->profile_path) {
        ereport(WARNING,
                (errcode(ERRCODE_CONFIG_FILE_ERROR), errmsg("the name in gpuscan.cost_profile_file is too long"),
                 errdetail("Default costs are used.")));
        return;
    }
    strlcpy(area->profile_path, path, sizeof area->profile_path);
    area->profile_wanted = 1;
}

void load_profile(protocol::Area *area) {
    const char *path = guc_cost_profile_file;
    area->profile_wanted = 0;
    if (path == nullptr || path[0] == '\0') {
        publish_defaults(area);
        return;
    }
    char *text = static_cast<char *>(palloc(max_bytes));
    const ssize_t size = read_file(path, text);
    if (size >= 0) {
        publish_text(area, path, text, static_cast<Size>(size));
    } else {
        const int error = errno;
        publish_defaults(area);
        errno = error;
        if (error == ENOENT)
            ask_for_measurement(area, path);
        else
            ereport(WARNING, (errcode_for_file_access(), errmsg("could not read gpuscan profile \"%s\": %m", path),
                              errdetail("Default costs are used.")));
    }
    pfree(text);
}

} // namespace gpuscan
