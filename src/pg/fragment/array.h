// A growing array of plain data in palloc'ed memory: safe to abandon when ereport jumps out.
#pragma once

#include "pg/pg.h"

namespace gpuscan {

template <class T> struct Array {
    T *at;
    int count;
    int room;

    T &operator[](int i) { return at[i]; }
    const T &operator[](int i) const { return at[i]; }
};

// Appends one element and returns its index. A zeroed Array is an empty one.
template <class T> int append(Array<T> *array, const T &element) {
    if (array->count == array->room) {
        int room = array->room == 0 ? 8 : array->room * 2;
        Size bytes = sizeof(T) * static_cast<Size>(room);
        array->at = static_cast<T *>(array->at == nullptr ? palloc(bytes) : repalloc(array->at, bytes));
        array->room = room;
    }
    array->at[array->count] = element;
    return array->count++;
}

} // namespace gpuscan
