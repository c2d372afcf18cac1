// See build_fingerprint.hpp.
#include "engine/ir/build_fingerprint.hpp"

#include <algorithm>
#include <exception>

#include "engine/ir/build_identity.hpp"
#include "engine/util/text_hash.hpp"

namespace gpuscan {
namespace {

// The fingerprint of a build whose tables have theirs in `fingerprints`; 0: it has none.
uint64_t fingerprint_of(const Program &program, ir::Index index, const ProgramParts &parts,
                        const uint64_t *fingerprints) {
    const uint64_t source = parts.sources[program.pipelines[index].source];
    bool known = source != unknown_part;
    auto told = [&known](uint64_t part) {
        known = known && part != unknown_part;
        return part;
    };
    BuildParts stand_ins;
    stand_ins.lookup = [&](ir::Index lookup) {
        LookupContents contents{};
        contents.id = std::max<uint64_t>(told(parts.lookups[lookup]), 1);
        return contents;
    };
    stand_ins.table_id = [&](ir::Index build) {
        known = known && fingerprints[build] != 0;
        return fingerprints[build];
    };
    stand_ins.constant = [&](ir::Index constant) { return told(parts.constants[constant]); };
    std::string description = describe_build(program, index, stand_ins);
    description.append(reinterpret_cast<const char *>(&source), sizeof source);
    return known ? std::max<uint64_t>(text_hash(description.data(), description.size()), 1) : 0;
}

} // namespace

bool fingerprint_builds(const void *bytes, size_t size, const ProgramParts &parts, uint64_t *fingerprints) noexcept {
    try {
        const Program program = parse_program(bytes, size);
        for (ir::Index i = 0; i + 1 < program.pipelines.size(); ++i)
            fingerprints[i] = fingerprint_of(program, i, parts, fingerprints);
        return true;
    } catch (const std::exception &) {
        return false;
    }
}

} // namespace gpuscan
