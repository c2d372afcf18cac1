#include "configurations.hpp"

#include <cstdlib>
#include <fstream>
#include <sstream>
#include <stdexcept>

namespace bench {

std::map<std::string, double> Configurations::totals(const std::string &configuration) const {
    std::map<std::string, double> result;
    for (const auto &[seed, by_query] : run.at(configuration)) {
        if (by_query.size() < queries.size())
            continue;
        for (const auto &[query, r] : by_query)
            result[seed] += r.ms / 1000;
    }
    return result;
}

size_t Configurations::cut_off(const std::string &configuration) const {
    size_t n = 0;
    for (const auto &[seed, by_query] : run.at(configuration))
        for (const auto &[query, r] : by_query)
            n += r.cut_off;
    return n;
}

Configurations read_configurations(const std::string &path) {
    std::ifstream in(path);
    if (!in)
        throw std::runtime_error("cannot read " + path);
    Configurations all;
    std::string line;
    std::getline(in, line);
    if (line != "configuration,seed,query,ms,status,plan")
        throw std::runtime_error(path + " is no file of experiment.sh");
    while (std::getline(in, line)) {
        std::vector<std::string> fields;
        std::stringstream text(line);
        for (std::string field; std::getline(text, field, ',');)
            fields.push_back(field);
        if (fields.size() != 6)
            throw std::runtime_error("a line has not six fields: " + line);
        if (all.run.count(fields[0]) == 0)
            all.names.push_back(fields[0]);
        all.run[fields[0]][fields[1]][fields[2]] = {std::strtod(fields[3].c_str(), nullptr), fields[4] == "timeout",
                                                    fields[5]};
        all.queries.insert(fields[2]);
    }
    return all;
}

ConfigurationPair compare(const Configurations &all, const std::string &a, const std::string &b) {
    ConfigurationPair pair;
    const auto first = all.totals(a), second = all.totals(b);
    std::vector<double> x, y, ratios;
    for (const auto &[seed, total] : first)
        x.push_back(total);
    for (const auto &[seed, total] : second) {
        y.push_back(total);
        if (const auto found = first.find(seed); found != first.end())
            ratios.push_back(total / found->second);
    }
    pair.ratio = ratio_of(ratios);
    pair.test = u_test(x, y);
    pair.of = x.size() * y.size();
    for (const auto &[seed, by_query] : all.run.at(a))
        for (const auto &[query, ra] : by_query) {
            const auto &others = all.run.at(b);
            const auto s = others.find(seed);
            if (s == others.end() || s->second.count(query) == 0)
                continue;
            ++pair.plans;
            pair.same_plans += s->second.at(query).plan == ra.plan;
        }
    return pair;
}

} // namespace bench
