#include "least_squares.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <eigen3/Eigen/Dense>

#include "bench/common/sample.hpp"

namespace calibrate {
namespace {

using Vector = Eigen::VectorXd;
using Matrix = Eigen::MatrixXd;

constexpr double least_learned = 0.5; // of what was open before, that the equations must have told
constexpr double least_move = 0.1;    // of a logarithm
constexpr double huber = 2;           // deviations beyond which an equation counts less
constexpr double least_noise = 0.02;  // of errors: nothing is known better
constexpr double longest_step = 1;
constexpr int rounds = 10, most_steps = 50;

// Times in units of their errors, columns (a row for each equation, a column for each weight) in those and in units of what is known.
class Fit {
  public:
    Fit(Matrix columns, Vector times, Vector spreads)
        : logarithms(Vector::Zero(columns.cols())), columns_(std::move(columns)), times_(std::move(times)),
          spreads_(std::move(spreads)), trust_(Vector::Ones(times_.size())) {
        for (int round = 0; round < rounds; ++round) {
            solve();
            weigh();
        }
        solve();
    }
    size_t freedom() const { return static_cast<size_t>(std::max<Eigen::Index>(columns_.rows() - columns_.cols(), 1)); }

    Vector logarithms, deviations; // of the factors; standard deviations

  private:
    Matrix columns_;
    Vector times_, spreads_, trust_; // trust: by equation
    double noise_ = 1;               // of the equations, as a multiple of their errors

    Vector residuals(const Vector &at) const { return times_ - columns_ * at.array().exp().matrix(); }

    double misfit(const Vector &at) const {
        return (trust_.array() * (residuals(at) / noise_).array().square()).sum() +
               (at.array() / spreads_.array()).square().sum();
    }

    void solve() {
        const Vector prior = spreads_.array().square().inverse();
        double damping = 1e-3, now = misfit(logarithms);
        for (int step = 0; step < most_steps; ++step) {
            const Matrix slopes = columns_ * logarithms.array().exp().matrix().asDiagonal();
            const Matrix weighted = (trust_ / (noise_ * noise_)).asDiagonal() * slopes;
            Matrix information = slopes.transpose() * weighted;
            information.diagonal() += prior;
            const Vector right = weighted.transpose() * residuals(logarithms) - Vector(prior.cwiseProduct(logarithms));
            const Matrix covariance = information.llt().solve(Matrix::Identity(prior.size(), prior.size()));
            deviations = covariance.diagonal().cwiseSqrt();
            information.diagonal() *= 1 + damping;
            const Vector move = information.llt().solve(right);
            const Vector next = logarithms + move.cwiseMax(-longest_step).cwiseMin(longest_step);
            const double then = misfit(next);
            if (then > now) {
                damping *= 10;
                continue;
            }
            const bool done = now - then < 1e-9 * now;
            logarithms = next;
            now = then;
            damping /= 5;
            if (done)
                return;
        }
    }

    // How far equations are off, by their median, and how much each counts.
    void weigh() {
        const Vector distances = residuals(logarithms).cwiseAbs();
        const double share = static_cast<double>(distances.size()) / static_cast<double>(freedom());
        const double middle = bench::median({distances.begin(), distances.end()});
        noise_ = std::max(1.4826 * middle * std::sqrt(share), least_noise);
        trust_ = (huber * noise_ / distances.array()).min(1);
    }
};

} // namespace

const char *words_of(Verdict verdict) {
    switch (verdict) {
    case Verdict::Measured:
        return "";
    case Verdict::Together:
        return "told only together with others, whose ratio is kept";
    case Verdict::Unseen:
        break;
    }
    return "the queries say too little of it";
}

std::vector<FittedWeight> fit_weights(const std::vector<Equation> &equations, const std::vector<double> &known,
                                      std::vector<double> spreads, double least_share) {
    spreads.resize(known.size(), open_spread);
    std::vector<FittedWeight> result;
    std::vector<Eigen::Index> seen;
    const auto n = static_cast<Eigen::Index>(equations.size()), all = static_cast<Eigen::Index>(known.size());
    Matrix columns(n, all);
    Vector times(n);
    for (Eigen::Index e = 0; e < n; ++e) {
        const Equation &equation = equations[static_cast<size_t>(e)];
        times[e] = equation.time / equation.error;
        for (size_t w = 0; w < known.size(); ++w)
            columns(e, static_cast<Eigen::Index>(w)) = equation.amounts[w] * known[w] / equation.error;
    }
    Vector rest = times;
    for (Eigen::Index w = 0; w < all; ++w) {
        const double value = known[static_cast<size_t>(w)];
        result.push_back({value, value, value, Verdict::Unseen});
        if ((columns.col(w).array() > least_share * times.array()).any())
            seen.push_back(w);
        else // the little that it takes is known well enough
            rest -= columns.col(w);
    }
    if (n < 3 || seen.empty())
        return result;
    const Vector open = Eigen::Map<Vector>(spreads.data(), all)(seen);
    const Fit fit(columns(Eigen::all, seen), rest, open);
    for (Eigen::Index i = 0; i < open.size(); ++i) {
        FittedWeight &weight = result[static_cast<size_t>(seen[static_cast<size_t>(i)])];
        const double logarithm = fit.logarithms[i], half = bench::t95(fit.freedom()) * fit.deviations[i];
        const double value = weight.value * std::exp(logarithm);
        if (fit.deviations[i] > (1 - least_learned) * open[i] && std::fabs(logarithm) < least_move)
            continue;
        weight = {value, value * std::exp(-half), value * std::exp(half),
                  half <= doubtful ? Verdict::Measured : Verdict::Together};
    }
    return result;
}

Estimate mean_of(const std::vector<double> &values) {
    const bench::Mean m = bench::mean(values);
    return {m.value, m.value - m.half, m.value + m.half};
}

Estimate median_of(const std::vector<double> &values) {
    const Estimate mean = mean_of(values);
    const double middle = bench::median(values);
    return {middle, middle - (mean.value - mean.low), middle + (mean.high - mean.value)};
}

double undisturbed(std::vector<double> times) {
    if (times.empty())
        return 0;
    std::sort(times.begin(), times.end());
    return times[(times.size() - 1) / 4];
}

} // namespace calibrate
