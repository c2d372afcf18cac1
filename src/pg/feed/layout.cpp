// How the device finds a relation's columns in its heap tuples: DefineSource.
//
// A cached column may be used only by someone who would decode it the same way, so its key is everything that decides
// the decoding: the types and alignments of columns 1..k, and column k's collation and missing value (the value of
// tuples that are older than the column). The bytes are compared, not hashed.
//
// The columns of a parent's leaves name the dictionaries that they share, too (relations.cpp).
#include <algorithm>

#include "pg/catalog/encode.h"
#include "pg/catalog/expression_text.h"
#include "pg/feed/feed.h"
#include "pg/service/area.h"

namespace gpuscan {
namespace {

constexpr int full_message = protocol::slot_buffer_size / 2; // bytes of definitions that are sent together

struct KeyAttribute {
    uint32 typid;
    int32 typmod;
    int16 length;
    char by_value, align, dropped, unused[3];
};

uint8 align_bytes(char align) {
    switch (align) {
    case TYPALIGN_CHAR:
        return 1;
    case TYPALIGN_SHORT:
        return 2;
    case TYPALIGN_INT:
        return 4;
    default:
        return 8;
    }
}

// The bytes of a missing value, for the key; a by-value Datum's own bytes.
void append_missing(StringInfo key, Form_pg_attribute attribute, Datum value) {
    if (attribute->attbyval)
        appendBinaryStringInfo(key, reinterpret_cast<const char *>(&value), sizeof value);
    else
        appendBinaryStringInfo(key, DatumGetPointer(value),
                               datumGetSize(value, attribute->attbyval, attribute->attlen));
}

void pad(StringInfo message) {
    static const char zeros[8] = {};
    appendBinaryStringInfo(message, zeros, aligned(message->len) - message->len);
}

// The name of the dictionary of a text column; "": its own.
char *dictionary_name(const SourceRelations *relations, const FragmentColumn *column) {
    if (!OidIsValid(relations->dictionary_owner) || !is_coded(column->codec))
        return pstrdup("");
    if (column->expr)
        return psprintf("%u/%u/%u", MyDatabaseId, relations->dictionary_owner,
                        expression_number(expression_key(column->expr)));
    Form_pg_attribute attribute = TupleDescAttr(relations->named, column->attnum - 1);
    return psprintf("%u/%u/%s", MyDatabaseId, relations->dictionary_owner, NameStr(attribute->attname));
}

protocol::ColumnHead head_of(const FragmentColumn *column, int nattributes) {
    protocol::ColumnHead head = {};
    head.codec = static_cast<uint8>(column->codec);
    head.type = static_cast<uint8>(column->type);
    head.scale = column->scale;
    head.digits = column->digits;
    head.nattributes = nattributes;
    head.missing_null = 1;
    return head;
}

// One column's definition, whose sizes `head` gets here but for that of `text`, the missing value of a text. Frees the key.
void append_definition_of(StringInfo message, protocol::ColumnHead *head, const AttributeLayout *attributes,
                          const char *text, StringInfo key, const char *dictionary) {
    head->key_size = key->len;
    head->dictionary_size = strlen(dictionary);
    appendBinaryStringInfo(message, reinterpret_cast<const char *>(head), sizeof *head);
    pad(message);
    appendBinaryStringInfo(message, reinterpret_cast<const char *>(attributes), head->nattributes * sizeof *attributes);
    pad(message);
    if (text)
        appendBinaryStringInfo(message, text, head->missing_text_size);
    pad(message);
    appendBinaryStringInfo(message, key->data, key->len);
    pad(message);
    appendBinaryStringInfo(message, dictionary, head->dictionary_size);
    pad(message);
    pfree(key->data);
}

// `attnum`: where the column is in `desc`.
bool append_column(FragmentRun *run, StringInfo message, int source, TupleDesc desc, AttrNumber attnum,
                   const FragmentColumn *column, const char *dictionary) {
    protocol::ColumnHead head = head_of(column, attnum);
    AttributeLayout *layouts = static_cast<AttributeLayout *>(palloc0(sizeof(AttributeLayout) * Size(attnum)));
    StringInfoData key;
    initStringInfo(&key);
    const char *text = nullptr;

    for (int i = 0; i < attnum; ++i) {
        Form_pg_attribute attribute = TupleDescAttr(desc, i);
        layouts[i].length = attribute->attlen;
        layouts[i].align = align_bytes(attribute->attalign);
        KeyAttribute entry = {};
        entry.typid = attribute->atttypid;
        entry.typmod = attribute->atttypmod;
        entry.length = attribute->attlen;
        entry.by_value = attribute->attbyval;
        entry.align = attribute->attalign;
        entry.dropped = attribute->attisdropped;
        appendBinaryStringInfo(&key, reinterpret_cast<const char *>(&entry), sizeof entry);
    }
    Form_pg_attribute attribute = TupleDescAttr(desc, attnum - 1);
    appendBinaryStringInfo(&key, reinterpret_cast<const char *>(&attribute->attcollation), sizeof(Oid));

    AttrMissing *missing = desc->constr ? desc->constr->missing : nullptr;
    if (attribute->atthasmissing && missing && missing[attnum - 1].am_present) {
        Datum value = missing[attnum - 1].am_value;
        append_missing(&key, attribute, value);
        head.missing_null = 0;
        if (column->codec == Codec::Fixed) {
            text = DatumGetPointer(value);
            head.missing_text_size = attribute->attlen;
        } else if (column->codec == Codec::Text) {
            struct varlena *packed = PG_DETOAST_DATUM_PACKED(value);
            text = VARDATA_ANY(packed);
            head.missing_text_size = VARSIZE_ANY_EXHDR(packed);
        } else {
            ir::Value encoded;
            const char *reason = nullptr;
            if (!encode_column(value, column, &encoded, &reason)) {
                note_unfit_column(run, source, column);
                return give_up(run, "%s", reason);
            }
            head.missing_low = encoded.low;
            head.missing_high = encoded.high;
        }
    }
    append_definition_of(message, &head, layouts, text, &key, dictionary);
    pfree(layouts);
    return true;
}

// The missing values of the columns that it reads, which an ALTER TABLE that was rolled back may have had others of.
void append_missing_of(StringInfo key, TupleDesc desc, const Expr *expr) {
    Bitmapset *read = nullptr;
    pull_varattnos(reinterpret_cast<Node *>(const_cast<Expr *>(expr)), 1, &read);
    for (int i = -1; (i = bms_next_member(read, i)) >= 0;) {
        const int column = i + FirstLowInvalidHeapAttributeNumber - 1;
        Form_pg_attribute attribute = TupleDescAttr(desc, column);
        AttrMissing *missing = desc->constr ? desc->constr->missing : nullptr;
        if (attribute->atthasmissing && missing && missing[column].am_present) {
            appendBinaryStringInfo(key, reinterpret_cast<const char *>(&column), sizeof column);
            append_missing(key, attribute, missing[column].am_value);
        }
    }
}

// Such columns are the same if they are made by the same expression.
void append_expression(StringInfo message, TupleDesc desc, const Expr *expr, const FragmentColumn *column,
                       const char *dictionary) {
    protocol::ColumnHead head = head_of(column, 1);
    AttributeLayout layout = {};
    bool by_value;
    char align;
    StringInfoData key;
    initStringInfo(&key);
    appendStringInfoString(&key, expression_key(expr));
    get_typlenbyvalalign(column->typid, &layout.length, &by_value, &align);
    layout.align = align_bytes(align);
    head.expression = expression_number(key.data);
    append_missing_of(&key, desc, expr);
    append_definition_of(message, &head, &layout, nullptr, &key, dictionary);
}

bool append_columns(FragmentRun *run, StringInfo message, int source, const SourceRelation *from) {
    const FragmentSource *described = &run->fragment->sources[source];
    int expression = 0;
    for (int i = 0; i < described->columns.count; ++i) {
        char *dictionary = dictionary_name(&run->relations[source], &described->columns[i]);
        if (from->attnums[i] == 0)
            append_expression(message, RelationGetDescr(from->relation),
                              static_cast<Expr *>(list_nth(from->expressions, expression++)), &described->columns[i],
                              dictionary);
        else if (!append_column(run, message, source, RelationGetDescr(from->relation), from->attnums[i],
                                &described->columns[i], dictionary))
            return false;
        pfree(dictionary);
    }
    return true;
}

// Would the source's columns have the same definitions in both?
bool has_same_columns(const FragmentSource *source, const SourceRelation *a, const SourceRelation *b) {
    if (a->expressions != NIL)
        return false;
    TupleDesc left = RelationGetDescr(a->relation), right = RelationGetDescr(b->relation);
    AttrNumber last = 0;
    for (int i = 0; i < source->columns.count; ++i) {
        if (a->attnums[i] != b->attnums[i])
            return false;
        last = std::max(last, a->attnums[i]);
    }
    for (int i = 0; i < last; ++i) {
        Form_pg_attribute x = TupleDescAttr(left, i), y = TupleDescAttr(right, i);
        if (x->atttypid != y->atttypid || x->atttypmod != y->atttypmod || x->attlen != y->attlen ||
            x->attbyval != y->attbyval || x->attalign != y->attalign || x->attisdropped != y->attisdropped ||
            x->attcollation != y->attcollation || x->atthasmissing || y->atthasmissing)
            return false;
    }
    return true;
}

// `from` NULL: rows come from elsewhere, if any. `before`: the relation whose definition precedes it in the message, or NULL.
bool append_definition(FragmentRun *run, StringInfo message, int source, const SourceRelation *from,
                       const SourceRelation *before) {
    protocol::DefineSourceRequest head = {};
    head.source = source;
    if (from) {
        head.feed = from == run->relations[source].at ? 0 : from->feed;
        head.ncolumns = run->fragment->sources[source].columns.count;
        head.locator = locator_of(from->relation);
        head.hashed = is_hashed(from->relation);
        relation_path(head.path, sizeof head.path, from->relation->rd_locator);
        head.same_columns = before && has_same_columns(&run->fragment->sources[source], before, from);
    }
    appendBinaryStringInfo(message, reinterpret_cast<const char *>(&head), sizeof head);
    pad(message);
    return !from || head.same_columns || append_columns(run, message, source, from);
}

bool send_definitions(FragmentRun *run, const StringInfo message) {
    if (message->len > static_cast<int>(protocol::slot_buffer_size))
        return give_up(run, "a table's columns take too long to describe");
    memcpy(device_input(run->connection), message->data, message->len);
    return request(run, protocol::Command::DefineSource, message->len, 0);
}

} // namespace

bool define_source(FragmentRun *run, int source) {
    const SourceRelations *relations = &run->relations[source];
    StringInfoData message;
    initStringInfo(&message);
    if (relations->count == 0 && !append_definition(run, &message, source, nullptr, nullptr))
        return false;
    int last = 0; // where the last definition begins
    for (int i = 0; i < relations->count; ++i) {
        if (message.len > full_message) {
            if (!send_definitions(run, &message))
                return false;
            resetStringInfo(&message);
        } else if (i > 0) {
            reinterpret_cast<protocol::DefineSourceRequest *>(message.data + last)->more = 1;
        }
        last = message.len;
        if (!append_definition(run, &message, source, &relations->at[i],
                               message.len > 0 ? &relations->at[i - 1] : nullptr))
            return false;
    }
    bool defined = send_definitions(run, &message);
    pfree(message.data);
    return defined;
}

} // namespace gpuscan
