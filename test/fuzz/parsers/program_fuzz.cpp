// libFuzzer target for programs: any bytes as a program, and programs that are right but for a few of their fields. One that is
// accepted is run over a few rows by a session on the host, and becomes kernels.
#include <random>

#include "../../unit/message.hpp"
#include "../../unit/random_cases.hpp"
#include "engine/codegen/codegen.hpp"
#include "session_course.hpp"

using namespace gpuscan;
using namespace gpuscan::protocol;
using fuzz::Exactly;
using test::Message;

extern "C" size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t max_size);

namespace {

constexpr int seeds = 300;
constexpr uint32_t most_rows = 24;
constexpr uint32_t table_entries = 8; // of a Search

fuzz::Process &process() {
    static fuzz::Process *const the = new fuzz::Process; // never destroyed: threads use it
    return *the;
}

class Course {
  public:
    Course(const Program &program, uint64_t seed)
        : program_(program), random_(seed), session_(process().devices, process().counters, BufferPool{nullptr, 0}) {}

    void run(const std::string &bytes) {
        OpenRequest open = {};
        open.program_size = static_cast<uint32_t>(bytes.size());
        if (!ask(Command::Open, Message().put(open).text(bytes)))
            return;
        for (uint32_t s = 0; s < program_.sources.size(); ++s) {
            DefineSourceRequest define = {};
            define.source = s;
            if (!ask(Command::DefineSource, Message().put(define)))
                return;
        }
        for (uint32_t p = 0; p < program_.pipelines.size(); ++p) {
            const bool last_too = p + 1 < program_.pipelines.size() || chance(50);
            if (!batch(program_.pipelines[p].source) || !put_lookups() || !run_pipeline(p, last_too))
                return;
            if (!last_too && (!batch(program_.pipelines[p].source) || !put_lookups() || !run_pipeline(p, true)))
                return;
        }
        for (int i = 0; i < 100 && ask(Command::Fetch, Message()); ++i) {
            uint32_t count = 0;
            memcpy(&count, process().output.data(), sizeof count);
            if (count == 0)
                return;
        }
    }

  private:
    bool chance(uint32_t percent) { return random_() % 100 < percent; }

    bool ask(Command command, const Message &message) {
        return fuzz::send(process(), session_, command, Exactly(message.bytes.data(), message.bytes.size())).status ==
               Status::Ok;
    }

    // A few rows of small values, and now and then of any bits.
    bool batch(uint32_t source) {
        BatchRequest request = {source, static_cast<uint32_t>(random_() % most_rows)};
        Message message;
        message.put(request);
        const ir::Range columns = program_.sources[source].columns;
        for (ir::Index c = 0; c < columns.count; ++c) {
            const ir::SourceColumn &column = program_.source_columns[columns.first + c];
            std::string nulls, values, texts;
            std::vector<uint32_t> offsets = {0};
            for (uint32_t row = 0; row < request.nrows; ++row) {
                nulls += static_cast<char>(column.nullable && chance(20));
                if (column.type == Type::Code) {
                    texts += std::string(random_() % 3, static_cast<char>('a' + random_() % 3));
                    offsets.push_back(static_cast<uint32_t>(texts.size()));
                } else {
                    values += value(column.type);
                }
            }
            message.text(nulls);
            if (column.type == Type::Code)
                message.raw(offsets.data(), offsets.size() * sizeof offsets[0]).text(texts);
            else
                message.text(values);
        }
        return ask(Command::Batch, message);
    }

    std::string value(Type type) {
        const size_t width = type_width(type);
        int128 v = static_cast<int128>(random_() % 16) - (type == Type::Bool || type == Type::Code ? 0 : 8);
        if (type == Type::Bool)
            v &= 1;
        if (type == Type::F64) {
            const double d = static_cast<double>(static_cast<int64_t>(v)) / 2;
            return std::string(reinterpret_cast<const char *>(&d), sizeof d);
        }
        if (type == Type::F32) {
            const float f = static_cast<float>(static_cast<int64_t>(v)) / 2;
            return std::string(reinterpret_cast<const char *>(&f), sizeof f);
        }
        std::string bytes(reinterpret_cast<const char *>(&v), width);
        if (chance(5) && type != Type::Bool)
            for (char &byte : bytes)
                byte = static_cast<char>(random_());
        return bytes;
    }

    // Tables over all entries that the dictionaries have now; their codes lead anywhere.
    bool put_lookups() {
        for (uint32_t l = 0; l < program_.lookups.size(); ++l) {
            const ir::Lookup &lookup = program_.lookups[l];
            PutLookupRequest request = {l, table_entries, 0, 0, 0, 0};
            if (lookup.source != ir::none) {
                const ReadDictionaryRequest read = {lookup.source, lookup.column, 0, 0};
                if (!ask(Command::ReadDictionary, Message().put(read)))
                    return false;
                ReadDictionaryReply reply;
                memcpy(&reply, process().output.data(), sizeof reply);
                request.entries = reply.size;
            }
            request.count = request.entries + 1;
            std::string values, nulls;
            for (uint32_t i = 0; i < request.count; ++i) {
                const int64_t ascending = i;
                values += lookup.source == ir::none && lookup.type == Type::I64
                              ? std::string(reinterpret_cast<const char *>(&ascending), sizeof ascending)
                              : value(lookup.type);
                nulls += static_cast<char>(chance(15));
            }
            if (!ask(Command::PutLookup, Message().put(request).text(values).text(nulls)))
                return false;
        }
        return true;
    }

    bool run_pipeline(uint32_t pipeline, bool last) {
        RunRequest request = {};
        request.pipeline = pipeline;
        request.last = last;
        return ask(Command::Run, Message().put(request));
    }

    const Program &program_;
    std::mt19937_64 random_;
    Session session_;
};

// ---- kernels ----

void generate(const Program &program, std::mt19937_64 &random) {
    for (ir::Index i = 0; i < program.pipelines.size(); ++i) {
        const ir::Pipeline &p = program.pipelines[i];
        codegen::Request request;
        request.program = &program;
        request.pipeline = i;
        for (ir::Index c = 0; c < program.sources[p.source].columns.count; ++c)
            request.source_nullable.push_back(random() % 2);
        for (size_t l = 0; l < program.lookups.size(); ++l)
            request.lookup_nullable.push_back(random() % 2);
        std::vector<codegen::TableShape> tables(p.joins.count);
        for (ir::Index k = 0; k < p.joins.count; ++k) {
            const ir::Pipeline &build = program.pipelines[program.joins[p.joins.first + k].build];
            for (ir::Index e = 0; e < build.keys.count; ++e)
                tables[k].keys.push_back(program.exprs[program.lists[build.keys.first + e]].type);
            for (ir::Index e = 0; e < build.payload.count; ++e) {
                tables[k].payload.push_back(program.exprs[program.lists[build.payload.first + e]].type);
                tables[k].payload_nullable.push_back(random() % 2);
            }
            request.tables.push_back(&tables[k]);
        }
        request.group.grouping = p.keys.count == 0 ? codegen::GroupingKind::None : codegen::GroupingKind::Wide;
        for (ir::Index a = 0; a < p.aggregates.count; ++a) {
            const ir::Aggregate &aggregate = program.aggregates[p.aggregates.first + a];
            const Type type = aggregate.arg == ir::none ? Type::I64 : program.exprs[aggregate.arg].type;
            request.group.sums.push_back(type == Type::F64    ? codegen::SumKind::Double
                                         : type == Type::I128 ? codegen::SumKind::Digits
                                         : type == Type::I64  ? codegen::SumKind::Halves
                                                              : codegen::SumKind::Narrow);
        }
        try {
            codegen::generate(request);
        } catch (const std::runtime_error &) { // what no device can do
        }
    }
}

// ---- mutation ----

// Other bytes in one element of one of the arrays, or one element more.
template <class T> bool change(std::vector<T> &array, std::mt19937_64 &random) {
    if (array.empty())
        return false;
    T element = array[random() % array.size()];
    uint8_t bytes[sizeof(T)];
    memcpy(bytes, &element, sizeof(T));
    const size_t at = random() % sizeof(T);
    if (random() % 2 != 0)
        bytes[at] = static_cast<uint8_t>(random() % 24);
    else
        bytes[at & ~size_t(3)] = static_cast<uint8_t>(bytes[at & ~size_t(3)] + (random() % 2 != 0 ? 1 : -1));
    memcpy(static_cast<void *>(&element), bytes, sizeof(T));
    if (random() % 4 == 0)
        array.push_back(element);
    else
        array[random() % array.size()] = element;
    return true;
}

bool change(Program &p, std::mt19937_64 &random) {
    switch (random() % 16) {
    case 0:
    case 1:
        return change(p.exprs, random);
    case 2:
        return change(p.constants, random);
    case 3:
        return change(p.lookups, random);
    case 4:
        return change(p.sources, random);
    case 5:
        return change(p.source_columns, random);
    case 6:
        return change(p.conjuncts, random);
    case 7:
        return change(p.joins, random);
    case 8:
        return change(p.lists, random);
    case 9:
        return change(p.aggregates, random);
    case 10:
        return change(p.pipelines, random);
    case 11:
        return change(p.sets, random);
    case 12:
        return change(p.distincts, random);
    case 13:
        return change(p.windows, random);
    case 14:
        return change(p.window_functions, random);
    default:
        return change(p.orders, random);
    }
}

} // namespace

extern "C" int LLVMFuzzerInitialize(int *, char ***) {
    for (int seed = 0; seed < seeds && fuzz::corpus(); ++seed) {
        reference::Generator generator(static_cast<uint64_t>(seed), seed % 3 == 0, seed % 2 != 0);
        fuzz::write_input("program" + std::to_string(seed), serialize_program(generator.make().program));
    }
    return 0;
}

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned seed) {
    std::mt19937_64 random(seed);
    try {
        Program program = parse_program(data, size);
        for (int changes = 1 + static_cast<int>(random() % 4); changes > 0;)
            changes -= change(program, random);
        const std::string bytes = serialize_program(program);
        if (random() % 8 != 0 && bytes.size() <= max_size) {
            memcpy(data, bytes.data(), bytes.size());
            return bytes.size();
        }
    } catch (const std::runtime_error &) {
    }
    return LLVMFuzzerMutate(data, size, max_size);
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    const Exactly bytes(data, size);
    Program program;
    try {
        program = parse_program(bytes.data(), bytes.size());
    } catch (const std::runtime_error &) {
        return 0;
    }
    const std::string again = serialize_program(program);
    parse_program(again.data(), again.size());
    process().patience.begin();
    uint64_t seed = size;
    for (const char byte : again)
        seed = seed * 31 + static_cast<uint8_t>(byte);
    std::mt19937_64 random(seed);
    generate(program, random);
    for (int round = 0; round < 2; ++round)
        Course(program, random()).run(again);
    process().forget();
    return 0;
}
