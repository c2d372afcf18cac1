// Executor start: a planned node becomes a Fragment again.
#include "pg/pg.h"

#include "pg/fragment/fragment.h"
#include "pg/fragment/plan_data.h"

namespace gpuscan {

Fragment *fragment_bind(const CustomScan *node, const List *range_table) {
    return assemble(spec_of_node(node, range_table), true);
}

} // namespace gpuscan
