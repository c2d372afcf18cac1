// Which weights of the planner are calibrated, and within which bounds. Arithmetic and names only.
//
// Only ratios of costs decide between plans, so each model has an anchor, the cost of a page that is read in sequence, which stays
// where it is; all others move. All weights are positive, and of quite different magnitudes: distances between them are ratios.
#pragma once

#include <string>
#include <vector>

namespace calibrate {

// One value for each weight of a model, in its order.
using Weights = std::vector<double>;

struct Weight {
    std::string setting;
    double low, high; // bounds while searching
    bool anchor;      // stays
};

struct Model {
    std::string name;
    std::vector<Weight> weights;

    size_t size() const { return weights.size(); }
    // Throws std::invalid_argument if the model has no such setting.
    size_t index_of(const std::string &setting) const;
};

// "asymmetric": gpuscan's five weights for pages and PostgreSQL's three for the processor. "original": PostgreSQL's own five, the
// "original model" of Bausch et al. Throws std::invalid_argument for any other name.
const Model &model_of(const std::string &name);

// Settings that the asymmetric model takes over from: gpuscan's weights are -1 ("as PostgreSQL has it") until somebody sets them.
// `value_of` gives a setting's value.
template <typename F> Weights resolve(const Model &model, F value_of) {
    Weights weights;
    for (const Weight &w : model.weights) {
        double value = value_of(w.setting);
        if (value < 0)
            value =
                value_of(w.setting == "gpuscan.random_read_page_cost" || w.setting == "gpuscan.hashagg_write_page_cost"
                             ? "random_page_cost"
                             : "seq_page_cost");
        weights.push_back(value);
    }
    return weights;
}

// Six significant digits: what is tried is what is shown, saved and applied.
double rounded(double value);
std::string number_text(double value);

// "SET a = 1; SET b = 2"
std::string set_statements(const Model &model, const Weights &weights);

} // namespace calibrate
