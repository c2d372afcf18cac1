#include "writes.hpp"

namespace fuzz {

string write_statement() {
    const Table &table = pick(tables);
    const Column &column = pick(table.columns);
    string where = " WHERE k " + pick({"=", "<", ">"}) + " " + number(roll(120));
    if (chance(70))
        where = " WHERE k = " + number(roll(120));
    switch (roll(6)) {
    case 0:
        return "DELETE FROM " + table.name + " WHERE k = " + number(roll(120)) + " AND i4 > 20";
    case 1:
    case 2:
        return "UPDATE " + table.name + " SET " + column.name + " = " + row_value(column) + where;
    case 3:
        return table.rows > 0 ? insert_rows(table, 1 + roll(20)) : "SELECT 1";
    case 4:
        return "UPDATE " + table.name + " SET lt = repeat('long', " + number(500 + roll(2000)) +
               ") WHERE k = " + number(roll(120));
    default:
        return "UPDATE " + table.name + " SET lt = 'short' WHERE length(lt) > 10";
    }
}

string maintenance() {
    const Table &table = pick(tables);
    switch (roll(17)) {
    case 0:
        return "VACUUM FULL " + table.name;
    case 1:
        return "ANALYZE " + table.name;
    case 2: // rewrites, or only says that the type is another one
        return "ALTER TABLE " + table.name + " ALTER COLUMN n TYPE numeric(" + pick({"10,2", "12,2", "13,3"}) + ")";
    case 3:
        return "VACUUM (FREEZE) " + table.name;
    case 4:
        return "ALTER TABLE " + table.name + " ADD COLUMN IF NOT EXISTS extra int8 DEFAULT 5";
    case 5:
        return "ALTER TABLE " + table.name + " DROP COLUMN IF EXISTS extra";
    case 6:
        return "ALTER TABLE " + table.name + " ALTER COLUMN s8 " + pick({"SET", "DROP"}) + " NOT NULL";
    case 7:
        return "BEGIN; ALTER TABLE fuzz.big DETACH PARTITION fuzz.big_2; ALTER TABLE fuzz.big ATTACH PARTITION "
               "fuzz.big_2 FOR VALUES FROM (30) TO (60); COMMIT";
    default:
        return "VACUUM " + table.name;
    }
}

string settings() {
    string out;
    for (const char *name : {"enable_partitionwise_join", "enable_partitionwise_aggregate"})
        if (chance(15))
            out += string("SET LOCAL ") + name + " = on; ";
    if (chance(10))
        out += "SET LOCAL enable_partition_pruning = off; ";
    for (const char *name :
         {"enable_hashagg", "enable_hashjoin", "enable_mergejoin", "enable_nestloop", "enable_indexscan"})
        if (chance(20))
            out += string("SET LOCAL ") + name + " = off; ";
    if (chance(25))
        out += "SET LOCAL parallel_setup_cost = 0; SET LOCAL parallel_tuple_cost = 0; SET LOCAL "
               "min_parallel_table_scan_size = 0; ";
    if (chance(15))
        out += "SET LOCAL TimeZone = 'Asia/Tokyo'; ";
    if (chance(10))
        out += "SET LOCAL work_mem = '64kB'; ";
    return out;
}

} // namespace fuzz
