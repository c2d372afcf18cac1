// Has whoever changed a relation's pages stopped?
//
// A page that has changed costs every query a little until its chunk is repaired, which costs as much as a hundred such pages. While pages
// keep changing a repair is due when queries have borne its price: then it costs no more than twice of what the best choice in
// hindsight would have (rent or buy, as in admission_credits.hpp). That takes long where few pages are left, and nobody changes more.
// But how often somebody does is known, counted in looks of queries; when several times as many have seen no change, the writer has
// stopped, and a repair lasts. (Where changes come at random, such a gap is one of a hundred.)
#pragma once

#include <cstdint>

namespace gpuscan {

class WritingPace {
  public:
    // WAL names a page that a writer has changed.
    void note_change() { changed_ = true; }
    // A query looks at the relation.
    void note_look() {
        if (changed_) {
            if (looks_ <= longest_gap)
                gap_ += (looks_ - gap_) / remembered;
            looks_ = 0;
        } else {
            looks_ = looks_ < longest ? looks_ + 1 : longest;
        }
        changed_ = false;
    }
    bool is_calm() const { return !changed_ && looks_ >= calm_gaps * (gap_ + 1); }

  private:
    static constexpr double remembered = 8; // changes, on average
    static constexpr double calm_gaps = 4;
    static constexpr uint32_t longest_gap = 16; // a longer silence is none between two changes of one writer
    static constexpr uint32_t longest = 1000;

    double gap_ = 0;       // looks between changes
    uint32_t looks_ = 0;   // since the last change
    bool changed_ = false; // since the last look
};

} // namespace gpuscan
