// What a decode job makes of every tuple: which attributes are walked over, and which columns are dropped off on the way.
//
// The columns of a job belong to one table, so their layouts are prefixes of one another and one walk over the attributes up
// to the last one needed serves them all; where they are not, a column gets a walk of its own.
// Attributes before the first one of varying length have constant offsets in tuples without NULLs.
#pragma once

#include <vector>

#include "engine/store/decode.hpp"

namespace gpuscan {

// Attributes that a tuple without NULLs is moved on by in one step.
struct Skip {
    int16_t length; // attlen of each of them, or what several of fixed length take together
    uint8_t align;  // of the first one, of each varlena
    uint8_t count;  // varlenas
};

constexpr uint8_t max_skipped = 16; // varlenas in one step

// A column of the job with what decoding it needs at hand.
struct DecodeColumn {
    const ColumnLayout *layout;
    uint8_t *values, *nulls;
    Dictionary *dictionary;
    uint32_t attribute; // index of its own attribute
    size_t job_index;
    uint32_t missing_code = 0; // text
    uint32_t skipped_from =
        UINT32_MAX;          // attribute: one behind the column before, or the first without a fixed offset; and
    std::vector<Skip> skips; // from there to this one. (A column with a fixed offset has none.)
};

// Columns whose layouts are prefixes of `attributes`, in the order of their attributes.
struct AttributeWalk {
    const std::vector<AttributeLayout> *attributes;
    std::vector<DecodeColumn> columns;
    std::vector<uint32_t>
        fixed; // of a tuple without NULLs: offsets of the attributes before the first one of varying length
};

// Throws DeviceError when a column is not what its codec needs: the reads of the decoder would not be checked. The texts of
// columns that tuples may lack are numbered; `dictionary_full` says that one of them could not be.
std::vector<AttributeWalk> plan_walks(const DecodeJob &job, bool &dictionary_full);

} // namespace gpuscan
