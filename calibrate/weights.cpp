#include "weights.hpp"

#include <cstdio>
#include <cstdlib>
#include <stdexcept>

namespace calibrate {
namespace {

// Measured page costs reach from a hundredth (all in memory) to some hundred (seeks of a disk). The processor's weights of the paper's
// table 4 lie between 0.00003 and 0.04.
constexpr double page_low = 0.01, page_high = 1000, cpu_low = 1e-5, cpu_high = 1;

const std::vector<Weight> processor = {
    {"cpu_tuple_cost", cpu_low, cpu_high, false},
    {"cpu_index_tuple_cost", cpu_low, cpu_high, false},
    {"cpu_operator_cost", cpu_low, cpu_high, false},
};

Model with_processor(std::string name, std::vector<Weight> pages) {
    pages.insert(pages.end(), processor.begin(), processor.end());
    return {std::move(name), std::move(pages)};
}

} // namespace

size_t Model::index_of(const std::string &setting) const {
    for (size_t i = 0; i < weights.size(); ++i)
        if (weights[i].setting == setting)
            return i;
    std::string known;
    for (const Weight &w : weights)
        known += (known.empty() ? "" : ", ") + w.setting;
    throw std::invalid_argument("\"" + setting + "\" is no weight of the " + name + " model, which has " + known);
}

const Model &model_of(const std::string &name) {
    static const Model asymmetric =
        with_processor("asymmetric", {{"gpuscan.seq_read_page_cost", page_low, page_high, true},
                                      {"gpuscan.random_read_page_cost", page_low, page_high, false},
                                      {"gpuscan.seq_write_page_cost", page_low, page_high, false},
                                      {"gpuscan.random_write_page_cost", page_low, page_high, false},
                                      {"gpuscan.hashagg_write_page_cost", page_low, page_high, false}});
    static const Model original = with_processor(
        "original", {{"seq_page_cost", page_low, page_high, true}, {"random_page_cost", page_low, page_high, false}});
    if (name == asymmetric.name)
        return asymmetric;
    if (name == original.name)
        return original;
    throw std::invalid_argument("no model \"" + name + "\": asymmetric or original");
}

double rounded(double value) { return std::strtod(number_text(value).c_str(), nullptr); }

std::string number_text(double value) {
    char text[32];
    std::snprintf(text, sizeof text, "%.6g", value);
    return text;
}

std::string set_statements(const Model &model, const Weights &weights) {
    std::string sql;
    for (size_t i = 0; i < model.size(); ++i)
        sql += (i > 0 ? "; SET " : "SET ") + model.weights[i].setting + " = " + number_text(weights[i]);
    return sql;
}

} // namespace calibrate
