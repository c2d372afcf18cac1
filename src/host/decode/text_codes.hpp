// Texts of a column become codes while pages are decoded.
//
// A text goes through a small direct-mapped cache first: where few values repeat, a hit costs one hash and one compare (of
// fewer than 8 bytes: of a word in the cache). What is not in it is asked for many pages at a time, which is what makes columns
// of unique texts bearable (dictionary.cpp); the pages' copies stay until then.
#pragma once

#include <cstring>
#include <vector>

#include "engine/store/dictionary.hpp"
#include "engine/util/text_hash.hpp"

namespace gpuscan {

// Of one column, for one thread.
class TextCodes {
  public:
    struct Row {
        uint32_t row, page; // page: its number among those that are decoded together
    };

    explicit TextCodes(Dictionary *dictionary) : dictionary_(dictionary), entries_(dictionary != nullptr ? size : 0) {}

    // The code of the text, if it is in the cache; else the row is noted as waiting for number() and the answer is
    // Dictionary::full. 8 bytes behind the text may be read.
    uint32_t code(const char *data, uint32_t length, Row row) {
        uint64_t word = 0, sketch;
        bool found;
        const Entry *entry;
        if (length < 8) {
            memcpy(&word, data, 8);
            word = low_bytes(word, length);
            sketch = short_text_sketch(word, length);
            entry = &entries_[sketch % size];
            found = entry->length == length && entry->key == word;
        } else {
            sketch = padded_text_sketch(data, length);
            entry = &entries_[sketch % size];
            found = entry->sketch == sketch && entry->length == length &&
                    equal(reinterpret_cast<const char *>(entry->key), data, length);
        }
        if (found)
            return entry->code;
        waiting_.push_back({data, length, Dictionary::full, hash_of_sketch(sketch)});
        rows_.push_back({row, sketch});
        return Dictionary::full;
    }

    // How many texts wait, and forgetting those behind `kept` of them: their page is of no use.
    size_t waiting() const { return waiting_.size(); }
    void forget(size_t kept) {
        waiting_.resize(kept);
        rows_.resize(kept);
    }

    // Asks the dictionary for the codes of all that wait: use(row, code) for each, Dictionary::full where it is full.
    template <class Use> void number(Use use) {
        if (waiting_.empty())
            return;
        dictionary_->intern_many(waiting_.data(), waiting_.size());
        for (size_t i = 0; i < waiting_.size(); ++i) {
            const Dictionary::Text &text = waiting_[i];
            if (text.code != Dictionary::full)
                remember(text, rows_[i].sketch);
            use(rows_[i].row, text.code);
        }
        forget(0);
    }

  private:
    static constexpr size_t size = 1024;
    struct WaitingRow {
        Row row;
        uint64_t sketch; // of its text
    };
    struct Entry {
        uint64_t sketch = 0;
        uint64_t key = 0; // the text itself if it is shorter than 8 bytes, else where it is in the dictionary
        uint32_t length = UINT32_MAX; // (of no text)
        uint32_t code = Dictionary::full;
    };

    // Of at least 8 bytes, which a call of memcmp() takes longer for than they are worth.
    static bool equal(const char *a, const char *b, uint32_t length) {
        uint64_t x, y;
        for (uint32_t i = 0; i < length - 8; i += 8) {
            memcpy(&x, a + i, 8);
            memcpy(&y, b + i, 8);
            if (x != y)
                return false;
        }
        memcpy(&x, a + length - 8, 8);
        memcpy(&y, b + length - 8, 8);
        return x == y;
    }

    void remember(const Dictionary::Text &text, uint64_t sketch) {
        uint64_t key = 0;
        if (text.length < 8)
            memcpy(&key, text.data, text.length);
        else
            key = reinterpret_cast<uintptr_t>(dictionary_->entry(text.code).data());
        entries_[sketch % size] = {sketch, key, text.length, text.code};
    }

    Dictionary *dictionary_;
    std::vector<Entry> entries_;
    std::vector<Dictionary::Text> waiting_;
    std::vector<WaitingRow> rows_; // of `waiting_`
};

} // namespace gpuscan
