// The 22 queries of TPC-H as texts, with their parameters in place.
#pragma once

#include <algorithm>
#include <fstream>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

#include "../common/pg.hpp"
#include "parameters.hpp"

namespace tpch {

// From the files q1.sql to q22.sql of the folder, with the parameters of the validation run at this scale factor.
inline std::vector<std::string> query_texts(const std::string &folder, double scale_factor) {
    std::vector<std::string> queries;
    for (int i = 1; i <= 22; ++i) {
        const std::string name = folder + "/q" + std::to_string(i) + ".sql";
        std::ifstream file(name);
        std::stringstream text;
        text << file.rdbuf();
        std::string sql = text.str();
        if (sql.empty())
            throw pg::Error("no query in " + name);
        auto values = parameters(i, std::nullopt, scale_factor);
        // The longest names first: ":size1" is not ":size" and a 1.
        std::sort(values.begin(), values.end(), [](const auto &a, const auto &b) {
            return std::string(a.first).size() > std::string(b.first).size();
        });
        for (const auto &[parameter, value] : values)
            for (size_t at = 0; (at = sql.find(":" + std::string(parameter), at)) != std::string::npos;
                 at += value.size())
                sql.replace(at, std::string(parameter).size() + 1, value);
        queries.push_back(sql.substr(0, sql.rfind(';')));
    }
    return queries;
}

} // namespace tpch
