#include "plateau.hpp"

#include <cmath>
#include <utility>

namespace calibrate {

Plateau::Plateau(Bounds bounds, Point best, Point prior, double spread, size_t steps, uint64_t seed)
    : bounds_(std::move(bounds)), best_(std::move(best)), prior_(std::move(prior)), spread_(spread), steps_(steps),
      random_(seed), at_(best_), sum_(best_.size(), 0) {}

double Plateau::misfit(const Point &point) const {
    double squares = 0;
    for (size_t i = 0; i < point.size(); ++i)
        squares += std::pow(std::log(point[i] / prior_[i]) / spread_, 2);
    return squares / 2;
}

const Point &Plateau::propose() {
    proposal_ = at_;
    step(proposal_, bounds_, width_, random_);
    return proposal_;
}

void Plateau::observe(double excess) {
    constexpr double up = 1.3, down = 1 / 1.12; // equal forces where 30 % are accepted
    constexpr double least = 0.01, most = 3;
    const double change = misfit(proposal_) + excess - misfit(at_) - excess_;
    const bool accepted = std::isfinite(excess) && std::log(random_.uniform()) < -change;
    if (accepted) {
        at_ = proposal_;
        excess_ = excess;
    }
    ++observed_;
    if (3 * observed_ <= steps_) {
        width_ = std::min(most, std::max(least, width_ * (accepted ? up : down)));
        return;
    }
    ++counted_;
    for (size_t i = 0; i < at_.size(); ++i)
        sum_[i] += std::log(at_[i]);
}

Point Plateau::mean() const {
    if (counted_ == 0)
        return best_;
    Point mean = best_;
    for (size_t i = 0; i < mean.size(); ++i)
        if (bounds_.low[i] < bounds_.high[i])
            mean[i] = std::exp(sum_[i] / static_cast<double>(counted_));
    return mean;
}

Point Plateau::towards(const Point &a, const Point &b, double share) {
    Point point = a;
    for (size_t i = 0; i < point.size(); ++i)
        if (a[i] != b[i])
            point[i] = a[i] * std::pow(b[i] / a[i], share);
    return point;
}

} // namespace calibrate
