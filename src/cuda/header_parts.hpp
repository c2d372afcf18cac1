// Which parts of the device headers does a generated kernel use?
//
// A kernel calls a tenth of what the headers define, and NVRTC took ten milliseconds, of forty for a short kernel, to read all of it.
// So it gets the headers without the rest. A *part* is what stands between two places where nothing is open: a function, a type,
// a constant, a directive, or all of an #if. A part is kept if a kept one or the kernel has a word that it defines, whatever the
// word means there; those that define the same word (overloads, specialisations) are kept or left out together, so that no call can mean
// another function than with all of the headers. What defines no word that is known, as namespaces and macros, is always kept.
//
// A word that is overlooked is one that does not compile: then the kernel gets all of the headers (Compiler::compile).
#pragma once

#include <string>
#include <unordered_map>
#include <vector>

namespace gpuscan::cuda {

class HeaderParts {
  public:
    // Divides the embedded headers that generated kernels include.
    HeaderParts();

    // The texts of all embedded headers, in their order; for a generated kernel, of those that it includes only what it uses.
    std::vector<std::string> used_by(const std::string &source) const;
    static std::vector<std::string> whole();
    // Is this the source of a generated kernel? The headers of others are not known in parts.
    static bool knows(const std::string &source);

    // The parts of one header, without comments.
    static std::vector<std::string> divide(const std::string &text);
    // The words that a part defines. None: it is always kept.
    static std::vector<std::string> defined_by(const std::string &part);

  private:
    struct Part {
        unsigned header; // index in embedded_sources
        std::string text;
        bool always;
        std::vector<unsigned> needs; // parts that define a word of it
    };
    std::vector<Part> parts_;
    std::unordered_map<std::string, std::vector<unsigned>> defining_; // by word
};

} // namespace gpuscan::cuda
