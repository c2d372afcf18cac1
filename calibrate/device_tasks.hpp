// What a device is asked to do when its weights are measured: queries on the scratch tables.
//
// A device keeps the tables of joins, and one that is kept is not built, be it from an earlier execution or from another join of the same one.
// So what may be built has a condition that all rows pass, with a number that no other has: builds differ by it, and each of them
// happens. (It is an argument of a kernel, so none is compiled for it.) Joins with tables that are kept tell what the probes take of it.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace calibrate {

constexpr char changing_number = '#'; // in a task's text

struct DeviceTask {
    const char *name;
    std::string sql;
    const char *cold;     // the table whose columns are brought; NULL: hot
    bool by_team = false; // with as many workers as are worth it; else by the session alone
};

// `rows`: of the largest table.
std::vector<DeviceTask> device_tasks(size_t rows);

// What the next execution is; `numbers` have been given.
std::string sql_of(const DeviceTask &task, size_t *numbers);

} // namespace calibrate
