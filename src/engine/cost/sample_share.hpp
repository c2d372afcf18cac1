// The share of a table's rows that pass a condition, by what is known of a column: its most common values with their frequencies, and a
// histogram of the others, whose bounds have equally many rows between them and are so a sample of these.
#pragma once

namespace gpuscan {

struct SampledShares {
    // Shares of all rows: without a value, and with one of the most common values.
    double null = 0, null_passing = 0;
    double common = 0, common_passing = 0;
    int bounds = 0; // of the histogram
    double bounds_passing =
        0; // of them; the first and the last one counted by half, as there are rows on one side of them only
};

// `expected`: the share to be taken of rows of which the sample cannot tell. False: too little is known, *share stays.
bool share_of_rows(const SampledShares &sampled, double expected, double *share);

} // namespace gpuscan
