// What a fragment costs on a device, in the planner's units: the planner's estimates become work of the tiers (engine/cost/tier_cost.hpp),
// whose weights are those of the device that the executor would get, and its nanoseconds become units.
//
// Work is noted in a ledger, and in a breakdown, if one is given: what EXPLAIN shows of a path's cost by component.
#pragma once

#include "pg/pg.h"

#include "engine/cost/executor_cost.hpp"
#include "engine/cost/storage_cost.hpp"
#include "engine/cost/tier_cost.hpp"

namespace gpuscan {

// Looks at settings, devices and weights once for what is planned next. To be called where planning begins.
void device_costs_begin();

// What has been looked at: for whoever shows costs.
const tier::Prices *device_prices();
double device_ns_per_unit();
bool device_is_gpu();
double device_ns(Cost cost);
Cost device_units(double ns);

// Will the device that the session has chosen not come, for want of a GPU, say? One that starts will be there when a plan is executed.
bool device_has_failed();

// What the same is compared with: the steps of PostgreSQL's executor under the session's cost settings, pages of files, and processor cores.
const executor::Rates *device_executor_rates();
storage::PageCosts device_page_costs();
double device_cores();

// A cleared breakdown in the current context.
tier::Breakdown *new_breakdown();

// For work of that device, and what has been noted comes to.
tier::Ledger device_ledger(tier::Breakdown *breakdown = nullptr);
Cost device_cost(const tier::Ledger &ledger);

// Reading a relation's pages into columns, but for what depends on the machine: the processes that feed it and what stands in shared buffers.
Cost device_relation_cost(const tier::RelationWork *work, tier::Breakdown *breakdown = nullptr);
Cost device_missing_cost(const tier::RelationWork *work); // the part of it that goes when as much is cached as fits

// Entries of dictionaries, each column's counted (fragment/text_work.cpp). `native`: for which the device evaluates an expression itself;
// it keeps what comes out, as long as it has the texts. `evaluated`: for which PostgreSQL does, and nobody knows what that takes. `shown`: that the
// backend needs to show groups. `demands`: expressions of which the device first collects what they need (engine/store/deferred_evaluation.hpp).
struct TextWork : tier::Ledger::Texts {
    int shown_columns; // of results, whose texts may be any of `shown`
    Cost calls;        // for which PostgreSQL evaluates one, where that is known
    List *kept;        // of MissingColumns *: the part of `calls` whose results the device keeps for later queries
};

// May a column have so many different texts of so many bytes? With more the device gives up. What they take may be half of gpuscan.cache_size.
double dictionary_bytes(double entries, double width);
bool dictionary_fits(double entries, double width);
// May a fragment have join tables of so many rows in all? With more the device gives up, and PostgreSQL's plan answers.
bool tables_fit(double rows);

} // namespace gpuscan
