#include "annealer.hpp"

#include <cmath>
#include <utility>

namespace calibrate {

Annealer::Annealer(Bounds bounds, Point start, double value, const Schedule &schedule, uint64_t seed)
    : bounds_(std::move(bounds)), schedule_(schedule), random_(seed) {
    restart(start, value);
}

void Annealer::restart(const Point &point, double value) {
    best_ = point;
    best_value_ = value;
    chains_.assign(schedule_.chains, {point, value});
    at_ = turn_ = 0;
}

namespace {

double between(double from, double to, size_t at, size_t period) {
    const double share = period > 1 ? static_cast<double>(at) / static_cast<double>(period - 1) : 1;
    return from * std::pow(to / from, share);
}

double reflected(double x, double low, double high) {
    const double width = high - low;
    double from_low = std::fmod(std::abs(x - low), 2 * width);
    if (from_low > width)
        from_low = 2 * width - from_low;
    return low + from_low;
}

} // namespace

void step(Point &point, const Bounds &bounds, double width, Random &random) {
    bool moved = false;
    size_t free = 0;
    for (size_t i = 0; i < point.size(); ++i)
        free += bounds.low[i] < bounds.high[i];
    while (!moved && free > 0)
        for (size_t i = 0; i < point.size(); ++i) {
            if (!(bounds.low[i] < bounds.high[i]) || random.uniform() < 0.5)
                continue;
            moved = true;
            const double x = std::log(point[i]) + width * random.normal();
            point[i] = std::exp(reflected(x, std::log(bounds.low[i]), std::log(bounds.high[i])));
        }
}

double Annealer::temperature(size_t chain) const {
    return between(schedule_.hot, schedule_.cold, at_, schedule_.period) *
           std::pow(schedule_.ladder, static_cast<double>(chain));
}

// Hotter chains take wider steps, by the root of their temperature.
double Annealer::width(size_t chain) const {
    return between(schedule_.wide, schedule_.narrow, at_, schedule_.period) *
           std::pow(schedule_.ladder, static_cast<double>(chain) / 2);
}

double Annealer::scale() const { return std::isfinite(best_value_) ? std::abs(best_value_) : 0; }

const Point &Annealer::propose() {
    if (period_ended())
        restart(Point(best_), best_value_);
    const Chain &chain = chains_[turn_];
    proposal_ = chain.point;
    step(proposal_, bounds_, width(turn_), random_);
    bound_ = chain.value - temperature(turn_) * scale() * std::log(random_.uniform());
    return proposal_;
}

bool Annealer::observe(double value) {
    const bool accepted = std::isfinite(value) && value <= bound_;
    if (accepted)
        chains_[turn_] = {proposal_, value};
    if (std::isfinite(value) && value < best_value_) {
        best_ = proposal_;
        best_value_ = value;
    }
    ++observed_;
    at_ = (at_ + 1) % schedule_.period;
    turn_ = (turn_ + 1) % chains_.size();
    if (at_ > 0 && at_ % (chains_.size() * schedule_.exchange) == 0)
        exchange();
    return accepted;
}

void Annealer::exchange() {
    for (size_t i = 0; i + 1 < chains_.size(); ++i) {
        Chain &cold = chains_[i], &hot = chains_[i + 1];
        const double draw = random_.uniform();
        bool swap = hot.value < cold.value;
        if (!swap && std::isfinite(hot.value) && scale() > 0) {
            const double difference = 1 / temperature(i) - 1 / temperature(i + 1);
            swap = draw < std::exp(-difference * (hot.value - cold.value) / scale());
        }
        if (swap)
            std::swap(cold, hot);
    }
}

} // namespace calibrate
