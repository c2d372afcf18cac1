// When two answers to a query are the same.
//
// Rows are compared as multisets, errors by SQLSTATE. What the SQL standard and PostgreSQL leave open is cut off both answers before
// they are compared once more, each only for the queries that can show it: which of several equal values stands for a group
// (numerics of different scales, zeros of either sign, characters with fewer blanks, intervals that are as long).
//
// Floats differ in their last digits, since they depend on the order in which numbers were added. So a row has a *partner*, one
// with the same values in all other columns and floats that are close, and two answers are the same if their rows can be paired.
// (Sorting them and comparing rows at the same place is not enough: rows whose other columns are the same are sorted by
// what differs.) In a set whether two rows are one or two depends on the last digits, too; there each row needs some partner.
#pragma once

#include "answers.hpp"

namespace fuzz {

bool same(const Query &q, const Answer &x, const Answer &y);

// What a device could get wrong: one value, a row too many or too few, an error that is none. False: there is nothing
// to falsify.
bool falsify(Answer &answer);

void show(const Query &q, const Answer &answer,
          const Answer &other); // the rows of one that have no partner in the other

} // namespace fuzz
