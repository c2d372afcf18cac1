// Equality and order as devices implement them.
//
// A device compares values as PostgreSQL's own default operators of their type do. Which operators a query means is not a matter of the
// type: ORDER BY ... USING names one, GROUP BY, DISTINCT, window functions and set operations take over what ORDER BY
// says, and a superuser can make a default operator class for an enum, or for a type that is only binary-compatible with the one
// whose class PostgreSQL takes otherwise (varchar, cidr). So every equality and every order arrives here as an OID: of an operator, or of an
// operator family; and what is not known belongs to PostgreSQL.
#pragma once

#include "pg/pg.h"

namespace gpuscan {

// Are values of the type equal by this operator exactly if they are on a device?
bool is_device_equality(Oid opno, Oid typid);

// The function of that equality; invalid where devices have none.
Oid device_equality_function(Oid typid);

// Does the operator, a "<" or ">", put values of the type (and of a text: by the query's collation) into a device's order?
bool is_device_order(Oid opno, Oid typid, bool *descending);

// ... and this family of B-tree operators?
bool is_device_family(Oid opfamily, Oid typid);

// What PostgreSQL takes where a query names nothing: the type's default classes.
bool has_device_equality(Oid typid);
bool has_device_comparison(Oid typid); // of GREATEST and LEAST

} // namespace gpuscan
