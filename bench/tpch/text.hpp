// Comment texts. The specification (clause 4.2.2.10 and 4.2.2.14) takes them from one long text of pseudo-English
// sentences: a comment is a piece of it, of random place and length. The sentences have the specification's shapes; the
// words are our own, but for those that the queries look for: "special", "pending", "unusual", "express" among the
// adjectives, "packages", "requests", "accounts", "deposits" among the nouns. They come as often as makes about one
// order comment in a hundred match a pattern of query 13, as in the original.
#pragma once

#include <string>
#include <string_view>

#include "../common/random.hpp"

namespace tpch {

class Text {
  public:
    Text(uint64_t seed, uint64_t stream) : random_(seed, stream, 0) {
        text_.reserve(size + 256);
        while (text_.size() < size)
            sentence();
    }

    // A piece of least .. most characters.
    std::string_view piece(bench::Random &random, int least, int most) const {
        const int length = random.between(least, most);
        return std::string_view(text_).substr(random.between(0, static_cast<int32_t>(size) - length), length);
    }

  private:
    static constexpr size_t size = 8 << 20;

    static constexpr std::string_view nouns[] = {
        "packages",  "requests", "accounts", "deposits",  "invoices",  "shipments",  "cartons",    "pallets",
        "ledgers",   "tickets",  "parcels",  "contracts", "receipts",  "barges",     "harbours",   "warehouses",
        "customers", "couriers", "orchards", "lanterns",  "engines",   "barrels",    "forecasts",  "audits",
        "archives",  "weavers",  "carriers", "markets",   "estimates", "vouchers",   "freighters", "inventories",
        "samples",   "specs",    "clerks",   "bridges",   "caravans",  "reservoirs", "catalogues", "turbines",
    };
    static constexpr std::string_view adjectives[] = {
        "special", "pending", "unusual", "express", "brisk",  "careful", "distant", "early",   "faithful", "gentle",
        "heavy",   "idle",    "joint",   "keen",    "late",   "modest",  "narrow",  "open",    "patient",  "quick",
        "regular", "steady",  "thin",    "urgent",  "vacant", "warm",    "yearly",  "zealous",
    };
    static constexpr std::string_view verbs[] = {
        "arrive", "balance", "carry", "deliver", "expire", "follow", "gather",   "hurry",  "inspect", "join",
        "keep",   "load",    "mend",  "notify",  "order",  "pack",   "question", "repair", "settle",  "travel",
        "unload", "verify",  "wait",  "yield",   "argue",  "borrow", "count",    "doubt",  "engage",  "finish",
    };
    static constexpr std::string_view adverbs[] = {
        "always",  "barely", "calmly", "daily",  "evenly",  "fairly", "gladly", "hardly",  "jointly", "kindly",
        "lightly", "mostly", "neatly", "openly", "plainly", "rarely", "slowly", "tightly", "usually", "warmly",
    };
    static constexpr std::string_view auxiliaries[] = {
        "may", "can", "could", "should", "must", "will", "would", "might", "ought to", "need to", "shall", "did",
    };
    static constexpr std::string_view prepositions[] = {
        "about",  "above",   "across", "after",  "against", "along",  "among",  "around",  "before",
        "behind", "below",   "beside", "beyond", "despite", "during", "inside", "near",    "outside",
        "past",   "through", "toward", "under",  "until",   "upon",   "within", "without",
    };
    static constexpr std::string_view ends[] = {".", ";", ":", "?", "!", "--"};

    template <size_t N> Text &say(const std::string_view (&list)[N]) { return say(random_.pick(list)); }
    // One of a list whose first four are looked for: one in four is of these, besides those that come by chance.
    template <size_t N> Text &say_wanted(const std::string_view (&list)[N]) {
        return say(random_.between(0, 3) == 0 ? list[random_.between(0, 3)] : random_.pick(list));
    }
    Text &say(std::string_view word) {
        if (!text_.empty())
            text_ += ' ';
        text_ += word;
        return *this;
    }

    void noun_phrase() {
        switch (random_.between(0, 3)) {
        case 0:
            break;
        case 1:
            say_wanted(adjectives);
            break;
        case 2:
            say_wanted(adjectives);
            text_ += ',';
            say_wanted(adjectives);
            break;
        default:
            say(adverbs).say_wanted(adjectives);
        }
        say_wanted(nouns);
    }
    void verb_phrase() {
        if (random_.between(0, 1) == 0)
            say(auxiliaries);
        say(verbs);
        if (random_.between(0, 1) == 0)
            say(adverbs);
    }
    void prepositional_phrase() {
        say(prepositions).say("the");
        noun_phrase();
    }
    void sentence() {
        const int form = random_.between(0, 4);
        noun_phrase();
        if (form >= 3)
            prepositional_phrase();
        verb_phrase();
        if (form == 1 || form == 4)
            prepositional_phrase();
        if (form == 2 || form == 3)
            noun_phrase();
        text_ += random_.pick(ends);
    }

    bench::Random random_;
    std::string text_;
};

} // namespace tpch
