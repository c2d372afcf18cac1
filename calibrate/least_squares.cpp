#include "least_squares.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "bench/common/sample.hpp"

namespace calibrate {
namespace {

using Vector = std::vector<double>;

constexpr double least_learned = 0.5; // of what was open before, that the equations must have told
constexpr double least_move = 0.1;    // of a logarithm
constexpr double huber = 2;           // deviations beyond which an equation counts less
constexpr double least_noise = 0.02;  // of errors: nothing is known better
constexpr double longest_step = 1;
constexpr int rounds = 10, most_steps = 50;

double dot(const Vector &a, const Vector &b) {
    double sum = 0;
    for (size_t i = 0; i < a.size(); ++i)
        sum += a[i] * b[i];
    return sum;
}

// The inverse of a symmetric positive definite matrix, by Cholesky's decomposition.
std::vector<Vector> inverse(const std::vector<Vector> &m) {
    const size_t n = m.size();
    std::vector<Vector> lower(n, Vector(n, 0)), result(n, Vector(n, 0));
    for (size_t i = 0; i < n; ++i)
        for (size_t j = 0; j <= i; ++j) {
            double sum = m[i][j];
            for (size_t k = 0; k < j; ++k)
                sum -= lower[i][k] * lower[j][k];
            lower[i][j] = i == j ? std::sqrt(std::max(sum, 1e-300)) : sum / lower[j][j];
        }
    for (size_t column = 0; column < n; ++column) {
        Vector x(n, 0);
        for (size_t i = 0; i < n; ++i) {
            double sum = i == column ? 1 : 0;
            for (size_t k = 0; k < i; ++k)
                sum -= lower[i][k] * x[k];
            x[i] = sum / lower[i][i];
        }
        for (size_t i = n; i-- > 0;) {
            double sum = x[i];
            for (size_t k = i + 1; k < n; ++k)
                sum -= lower[k][i] * x[k];
            x[i] = sum / lower[i][i];
        }
        for (size_t i = 0; i < n; ++i)
            result[i][column] = x[i];
    }
    return result;
}

// Times in units of their errors, columns in those and in units of what is known.
class Fit {
  public:
    Fit(std::vector<Vector> columns, Vector times, Vector spreads)
        : logarithms(columns.size(), 0), deviations(columns.size(), 0), columns_(std::move(columns)),
          times_(std::move(times)), spreads_(std::move(spreads)), trust_(times_.size(), 1), noise_(1) {
        for (int round = 0; round < rounds; ++round) {
            solve();
            weigh();
        }
        solve();
    }
    size_t freedom() const { return times_.size() > columns_.size() + 1 ? times_.size() - columns_.size() : 1; }

    Vector logarithms, deviations; // of the factors; standard deviations

  private:
    std::vector<Vector> columns_;
    Vector times_, spreads_, trust_; // trust: by equation
    double noise_;                   // of the equations, as a multiple of their errors

    Vector residuals(const Vector &at) const {
        Vector rest = times_;
        for (size_t c = 0; c < columns_.size(); ++c) {
            const double factor = std::exp(at[c]);
            for (size_t e = 0; e < rest.size(); ++e)
                rest[e] -= factor * columns_[c][e];
        }
        return rest;
    }

    double misfit(const Vector &at) const {
        double sum = 0;
        const Vector rest = residuals(at);
        for (size_t e = 0; e < rest.size(); ++e)
            sum += trust_[e] * rest[e] * rest[e] / (noise_ * noise_);
        for (size_t c = 0; c < at.size(); ++c)
            sum += at[c] * at[c] / (spreads_[c] * spreads_[c]);
        return sum;
    }

    void solve() {
        const size_t n = columns_.size();
        double damping = 1e-3, now = misfit(logarithms);
        for (int step = 0; step < most_steps; ++step) {
            const Vector rest = residuals(logarithms);
            std::vector<Vector> slopes = columns_, information(n, Vector(n));
            Vector right(n), weighted(rest.size());
            for (size_t c = 0; c < n; ++c)
                for (double &slope : slopes[c])
                    slope *= std::exp(logarithms[c]);
            for (size_t i = 0; i < n; ++i) {
                const double prior = 1 / (spreads_[i] * spreads_[i]);
                for (size_t e = 0; e < rest.size(); ++e)
                    weighted[e] = trust_[e] / (noise_ * noise_) * slopes[i][e];
                right[i] = dot(weighted, rest) - prior * logarithms[i];
                for (size_t j = 0; j < n; ++j)
                    information[i][j] = dot(weighted, slopes[j]) + (i == j ? prior : 0);
            }
            const std::vector<Vector> covariance = inverse(information);
            for (size_t i = 0; i < n; ++i)
                deviations[i] = std::sqrt(covariance[i][i]);
            for (size_t i = 0; i < n; ++i)
                information[i][i] *= 1 + damping;
            const std::vector<Vector> damped = inverse(information);
            Vector next = logarithms;
            for (size_t i = 0; i < n; ++i)
                next[i] = std::clamp(next[i] + dot(damped[i], right), next[i] - longest_step, next[i] + longest_step);
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
        Vector distances = residuals(logarithms);
        for (double &d : distances)
            d = std::fabs(d);
        const double share = static_cast<double>(distances.size()) / static_cast<double>(freedom());
        noise_ = std::max(1.4826 * bench::median(distances) * std::sqrt(share), least_noise);
        for (size_t e = 0; e < distances.size(); ++e)
            trust_[e] = distances[e] > huber * noise_ ? huber * noise_ / distances[e] : 1;
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
    std::vector<Vector> columns;
    std::vector<size_t> seen;
    Vector times, open;
    for (const Equation &e : equations)
        times.push_back(e.time / e.error);
    for (size_t w = 0; w < known.size(); ++w) {
        result.push_back({known[w], known[w], known[w], Verdict::Unseen});
        Vector column;
        double most = 0;
        for (const Equation &e : equations) {
            column.push_back(e.amounts[w] * known[w] / e.error);
            most = std::max(most, e.amounts[w] * known[w] / e.time);
        }
        if (most >= least_share) {
            seen.push_back(w);
            open.push_back(spreads[w]);
            columns.push_back(std::move(column));
        } else { // the little that it takes is known well enough
            for (size_t e = 0; e < times.size(); ++e)
                times[e] -= column[e];
        }
    }
    if (equations.size() < 3 || seen.empty())
        return result;
    const Fit fit(std::move(columns), std::move(times), open);
    for (size_t i = 0; i < seen.size(); ++i) {
        const double logarithm = fit.logarithms[i], half = bench::t95(fit.freedom()) * fit.deviations[i];
        const double value = known[seen[i]] * std::exp(logarithm);
        if (fit.deviations[i] > (1 - least_learned) * open[i] && std::fabs(logarithm) < least_move)
            continue;
        result[seen[i]] = {value, value * std::exp(-half), value * std::exp(half),
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
