// libFuzzer target for the profile file: any text. What is accepted is written as a profile, and read again without a word.
#include <vector>

#include "engine/cost/tier_profile.hpp"
#include "fuzz_input.hpp"

using namespace gpuscan;
using namespace gpuscan::tier;

namespace {

constexpr int capacity = 3;

bool parse(const std::string &text, Profile *profile, int *nnotes) {
    const fuzz::Exactly copy(text.data(), text.size());
    const std::unique_ptr<ProfileNote[]> notes(new ProfileNote[capacity]);
    const bool good = parse_profile(copy.data(), copy.size(), profile, notes.get(), capacity, nnotes);
    fuzz::require(*nnotes >= 0 && *nnotes <= capacity, "number of notes");
    for (int i = 0; i < *nnotes; ++i)
        fuzz::require(memchr(notes[i].text, '\0', sizeof notes[i].text) != nullptr, "a note without an end");
    fuzz::require(good || *nnotes > 0, "refused without a reason");
    return good;
}

} // namespace

extern "C" int LLVMFuzzerInitialize(int *, char ***) {
    if (fuzz::corpus())
        fuzz::write_input("profile", format_profile(default_profile(), Origins(), "host", "gpu"));
    return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    Profile profile;
    int nnotes = 0;
    if (!parse(std::string(reinterpret_cast<const char *>(data), size), &profile, &nnotes))
        return 0;
    Profile again;
    fuzz::require(parse(format_profile(profile, Origins(), "host", ""), &again, &nnotes) && nnotes == 0,
                  "a profile that was written is not read");
    return 0;
}
