// Rent or buy: what queries would have saved so far if the columns that they read of a relation had been cached.
//
// Bringing columns into a device's cache may cost a query more than PostgreSQL's own plan takes; after that, queries like it cost
// next to nothing. Nobody knows how many will come. So this is the ski rental problem (Karlin, Manasse, Rudolph and Sleator,
// "Competitive Snoopy Caching", Algorithmica 3, 1988): rent until the rents that were paid reach the price, then buy. That costs at
// most twice of what the best choice in hindsight would have. The rent is what PostgreSQL's plan takes more than the device's with
// cached columns; it is added up here by relation. The price is what bringing the columns takes; the planner does not count what the sum
// has reached of it, and takes it off the sum when it buys.
//
// Read and written by any process without a lock (count_table.hpp). Two writers that meet may lose a rent; who finds no room
// displaces the relation that has saved least. Both only make an estimate worse.
#pragma once

#include "engine/store/count_table.hpp"

namespace gpuscan {

class AdmissionCredits {
  public:
    // Nanoseconds that queries over the relation would have saved.
    uint64_t of(uint32_t database, uint32_t relation) const;
    void add(uint32_t database, uint32_t relation, uint64_t ns);
    // Takes so much off, if it is there.
    void spend(uint32_t database, uint32_t relation, uint64_t ns);
    // Whoever gives the memory back does not want it bought again at once.
    void forget(uint32_t database, uint32_t relation);
    void forget_all();

  private:
    CountTable<128> table_;
};

} // namespace gpuscan
