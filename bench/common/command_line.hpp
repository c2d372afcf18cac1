// The command line of a program, by CLI11: what the programs have in common.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdlib>
#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace bench {

// A command line on which an option counts where it stands last.
inline void prepare_command_line(CLI::App &app) {
    app.set_help_flag("--help", "this text");
    app.option_defaults()->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
}

// An option LEFT<at>RIGHT that may be repeated, or all words of this form.
inline void add_pairs(CLI::App &app, const std::string &name, char at,
                      std::vector<std::pair<std::string, std::string>> &pairs, const std::string &what) {
    const auto split = [name, at, &pairs](const std::vector<std::string> &all) {
        for (const std::string &text : all) {
            const size_t middle = text.find(at);
            if (middle == std::string::npos || middle == 0)
                throw CLI::ValidationError(name, "does not take '" + text + "'");
            pairs.emplace_back(text.substr(0, middle), text.substr(middle + 1));
        }
    };
    app.add_option_function<std::vector<std::string>>(name, split, what)->take_all()->allow_extra_args(name[0] != '-');
}

// Exits with 0 where help is asked for, with 2 where the command line is wrong.
inline void parse_command_line(CLI::App &app, int argc, char **argv) {
    try {
        app.parse(argc, argv);
    } catch (const CLI::ParseError &e) {
        std::exit(app.exit(e) == 0 ? 0 : 2);
    }
}

} // namespace bench
