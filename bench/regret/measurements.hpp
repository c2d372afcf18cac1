// What was measured, in a file that every measurement is appended to at once, so that a second start goes on from there.
//
// Plans are known by their trees: another cost model may choose otherwise among them, and what they take is known already. Whoever
// changes what plans take (the extension, the machine) begins with a new file.
#pragma once

#include <fstream>
#include <map>
#include <string>
#include <vector>

namespace bench {

struct Measurement {
    bool censored = false;     // stopped: the one time is a limit that it exceeds
    std::vector<double> times; // ms
};

// What a measurement belongs to.
struct MeasurementKey {
    std::string context;     // server and settings
    std::string data;        // benchmark and set of data
    std::string query;       // name and hash of its text
    std::string temperature; // hot, cold, or any: no device takes part
    std::string plan;        // hash
    std::string phase;       // alone, or "against PLAN": in turns with another one

    std::string text() const;
};

class Measurements {
  public:
    // Reads the file, if it is there, and goes on at its end. Throws std::runtime_error if it is no such file.
    explicit Measurements(const std::string &path);

    const Measurement *find(const MeasurementKey &key) const;
    // `about`: for people (the settings that give the plan, and its outline).
    void add(const MeasurementKey &key, const Measurement &m, const std::string &about);

  private:
    std::string path_;
    std::map<std::string, Measurement> known_;
    std::ofstream out_;
};

} // namespace bench
