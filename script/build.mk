# How gpuscan is compiled, linked and installed; included by the Makefile for every target that needs PostgreSQL's
# development files. PGXS gives the compiler, the flags and the directories and installs the control and SQL files; the
# rules for objects and for the library are our own, because one tree is built against several major versions.

PG_CONFIG ?= $(if $(PG),$(shell script/pg-config.sh $(PG)),pg_config)
PGXS := $(shell $(PG_CONFIG) --pgxs 2>/dev/null)
ifeq ($(wildcard $(PGXS)),)
$(error PostgreSQL's development files not found by "$(PG_CONFIG)": run script/setup.sh, or say PG_CONFIG=/path/to/pg_config)
endif

EXTENSION = gpuscan
# Of the extension, its packages and gpuscan-calibrate: PGXN's META.json has it, and make lint compares the other places with it.
RELEASE := $(shell sed -n 's/^  "version": "\(.*\)",/\1/p' META.json)
DATA = $(wildcard sql/gpuscan--*.sql)
EXTRA_CLEAN = $(BUILD)

# Debian's PostgreSQL is built with LLVM; its rule for bitcode knows neither our objects' place nor C++17.
override with_llvm = no
include $(PGXS)

ifeq ($(filter 15 16 17 18,$(MAJORVERSION)),)
$(error gpuscan needs PostgreSQL 15, 16, 17 or 18, and $(PG_CONFIG) belongs to $(VERSION))
endif

# ---- sources -------------------------------------------------------------------------------------------------------

sources_below = $(sort $(shell find $(wildcard $(1)) -name '*.cpp' 2>/dev/null </dev/null))

PG_SOURCES     := src/gpuscan.cpp $(call sources_below,src/pg)
ENGINE_SOURCES := $(call sources_below,src/engine src/host src/cuda src/server)
UNIT_SOURCES   := $(wildcard test/unit/*.cpp)
# What of the calibrator knows neither PostgreSQL's client library nor the command line is unit-tested.
CALIBRATE_SOURCES := $(wildcard calibrate/*.cpp)
CALIBRATE_PURE    := $(filter-out %/main.cpp %/apply.cpp %/calibration.cpp %/calibration_result.cpp %/session.cpp %/statistics_workload.cpp %/scratch.cpp \
	%/measure.cpp %/measure_cpu.cpp %/measure_steps.cpp %/measure_storage.cpp %/measure_device.cpp,$(CALIBRATE_SOURCES))
FUZZ_SOURCES   := $(wildcard test/fuzz/parsers/*_fuzz.cpp)
EMBEDDED       := $(sort $(wildcard src/device/*.cuh))

PG_BUILD     := $(BUILD)/pg$(MAJORVERSION)
ENGINE_BUILD := $(BUILD)/engine
UNIT_BUILD   := $(BUILD)/unit
CALIBRATE_BUILD := $(BUILD)/calibrate
EXPLAIN_BUILD := $(BUILD)/explain

PG_OBJECTS     := $(PG_SOURCES:src/%.cpp=$(PG_BUILD)/%.o)
ENGINE_OBJECTS := $(ENGINE_SOURCES:src/%.cpp=$(ENGINE_BUILD)/%.o) $(ENGINE_BUILD)/embedded_sources.o
UNIT_OBJECTS   := $(UNIT_SOURCES:test/unit/%.cpp=$(UNIT_BUILD)/%.o)
CALIBRATE_OBJECTS      := $(CALIBRATE_SOURCES:calibrate/%.cpp=$(CALIBRATE_BUILD)/%.o)
EXPLAIN_OBJECTS := $(patsubst explain/%.cpp,$(EXPLAIN_BUILD)/%.o,$(wildcard explain/*.cpp))
# What it shares with the benchmarks.
CALIBRATE_SHARED       := $(CALIBRATE_BUILD)/u_test.o $(CALIBRATE_BUILD)/configurations.o
CALIBRATE_PURE_OBJECTS := $(CALIBRATE_PURE:calibrate/%.cpp=$(CALIBRATE_BUILD)/%.o)

# ---- flags ---------------------------------------------------------------------------------------------------------

TEST_COMMANDS := $(filter -DGPUSCAN_TEST_COMMANDS,$(DEFINES))

COMPILER := $(if $(shell command -v ccache 2>/dev/null),ccache )$(CXX)

# The second line names what is a bug whenever it is warned of; ERROR_ON_WARNING=1 makes an error of every warning.
WARNINGS := -Wall -Wextra -Wpointer-arith -Wformat-security -Wvla -Wnon-virtual-dtor -Woverloaded-virtual \
	-Werror=return-type -Werror=format -Werror=vla -Werror=switch -Werror=uninitialized -Werror=delete-non-virtual-dtor \
	$(if $(filter 1,$(ERROR_ON_WARNING)),-Werror)

# SANITIZE=address,undefined: everything of ours is checked while it runs; script/server.sh starts a server that can load it. What
# is found ends the process. (GCC's warnings about code that it has instrumented are not ours.)
SANITIZE_FLAGS := $(if $(SANITIZE),-fsanitize=$(SANITIZE) -fno-sanitize-recover=all -fno-omit-frame-pointer -Wno-maybe-uninitialized)

# (The test commands are one file's, see below: the rest of such a build comes from ccache. It finds another clone's objects, too,
# because no object knows in which directory it was compiled.)
COMMON_FLAGS := -std=c++17 $(if $(SANITIZE),-g1,-g) -ffile-prefix-map=$(CURDIR)=. -fPIC -pthread -MMD -MP -Isrc $(WARNINGS) $(filter-out $(TEST_COMMANDS),$(DEFINES)) $(SANITIZE_FLAGS)

# -fwrapv and -fno-strict-aliasing as in PostgreSQL itself: heap pages are read through casts. -ffp-contract=off: a fused
# multiply-add would give another last bit than PostgreSQL's own arithmetic.
ENGINE_FLAGS := $(COMMON_FLAGS) $(if $(SANITIZE),-O1,-O3 -ftree-vectorize) -fno-strict-aliasing -fwrapv -ffp-contract=off \
	-fvisibility=hidden -fvisibility-inlines-hidden

# Server headers come by -isystem, after our own and without their warnings, and only here: the engine and the CUDA
# device compile without a way to reach them. gnu++17, because PostgreSQL's copyObject is made with typeof.
PG_FLAGS := $(CXXFLAGS) $(CXXFLAGS_SL_MODULE) $(filter -D% -U%,$(CPPFLAGS)) $(COMMON_FLAGS) -std=gnu++17 $(if $(SANITIZE),-g1 -O1,-O2) \
	$(patsubst -I%,-isystem %,$(filter-out -I. -I./,$(filter -I%,$(CPPFLAGS))))

# A client of its own: libpq, CLI11, nlohmann-json and Eigen, and what the benchmarks have for connections and plans. libpq's headers are not
# in the record: any version's do, and the unit tests' objects are the same for all.
CALIBRATE_FLAGS := $(COMMON_FLAGS) -O2 -I.

comma := ,
LIBPQ = -L$(libdir) $(if $(filter-out /usr/lib%,$(libdir)),-Wl$(comma)-rpath$(comma)$(libdir)) -lpq

# $(call recorded,FILE,TEXT): FILE, rewritten only when it does not hold TEXT. Objects depend on the record of their
# command line and of the server's version, the library on the record of its objects (a deleted source must leave it).
same = $(and $(findstring <$(1)>,<$(2)>),$(findstring <$(2)>,<$(1)>))
recorded = $(if $(call same,$(strip $(file <$(1))),$(strip $(2))),,$(shell mkdir -p $(dir $(1)))$(file >$(1),$(strip $(2))))$(1)
PG_RECORD      := $(call recorded,$(PG_BUILD)/flags,$(COMPILER) $(PG_FLAGS) $(VERSION))
ENGINE_RECORD  := $(call recorded,$(ENGINE_BUILD)/flags,$(COMPILER) $(ENGINE_FLAGS) $(TEST_COMMANDS))
LIBRARY_RECORD := $(call recorded,$(PG_BUILD)/objects,$(PG_OBJECTS) $(ENGINE_OBJECTS))
UNIT_RECORD    := $(call recorded,$(UNIT_BUILD)/objects,$(UNIT_OBJECTS) $(ENGINE_OBJECTS) $(CALIBRATE_PURE_OBJECTS))
CALIBRATE_RECORD := $(call recorded,$(CALIBRATE_BUILD)/flags,$(COMPILER) $(CALIBRATE_FLAGS))
EMBED_RECORD   := $(call recorded,$(ENGINE_BUILD)/embedded,$(EMBEDDED))

# (only when "make clean all" has just removed them)
$(sort $(PG_RECORD) $(ENGINE_RECORD) $(LIBRARY_RECORD) $(UNIT_RECORD) $(EMBED_RECORD) $(CALIBRATE_RECORD)):
	@mkdir -p $(@D) && touch $@

# ---- the library ---------------------------------------------------------------------------------------------------

LIBRARY := $(PG_BUILD)/gpuscan.so

all: $(LIBRARY)

$(LIBRARY): $(PG_OBJECTS) $(ENGINE_OBJECTS) $(LIBRARY_RECORD)
	$(CXX) -shared $(SANITIZE_FLAGS) -Wl,-Bsymbolic-functions -o $@ $(filter %.o,$^) $(LDFLAGS) $(LDFLAGS_SL) -pthread -lstdc++ -lpthread -ldl -lm

$(PG_BUILD)/%.o: src/%.cpp $(PG_RECORD)
	@mkdir -p $(@D)
	$(COMPILER) $(PG_FLAGS) -c -o $@ $<

$(ENGINE_BUILD)/%.o: src/%.cpp $(ENGINE_RECORD)
	@mkdir -p $(@D)
	$(COMPILER) $(ENGINE_FLAGS) -c -o $@ $<

$(ENGINE_BUILD)/server/session_test_commands.o: ENGINE_FLAGS += $(TEST_COMMANDS)

$(ENGINE_BUILD)/embedded_sources.o: $(ENGINE_BUILD)/embedded_sources.cpp $(ENGINE_RECORD)
	$(COMPILER) $(ENGINE_FLAGS) -c -o $@ $<

# The device headers, which NVRTC reads at run time, travel inside the library.
$(ENGINE_BUILD)/embedded_sources.cpp: script/embed.sh $(EMBEDDED) $(EMBED_RECORD)
	@mkdir -p $(@D)
	script/embed.sh src $(EMBEDDED) > $@.new
	mv $@.new $@

# What is installed knows its functions' names, which a backtrace shows; lines and types are in a file of their own, which gdb finds
# beside it. (What sanitizers find they tell with lines.)
INSTALLED := $(if $(SANITIZE),$(LIBRARY),$(PG_BUILD)/installed/gpuscan.so)

$(PG_BUILD)/installed/gpuscan.so: $(LIBRARY)
	@mkdir -p $(@D)
	objcopy --only-keep-debug $< $@.debug
	objcopy --strip-debug --add-gnu-debuglink=$@.debug $< $@

install: install-library
.PHONY: install-library install-debug uninstall-library
install-library: $(INSTALLED)
	$(MKDIR_P) '$(DESTDIR)$(pkglibdir)'
	$(INSTALL_SHLIB) $< '$(DESTDIR)$(pkglibdir)/gpuscan.so'

install-debug: $(PG_BUILD)/installed/gpuscan.so
	$(MKDIR_P) '$(DESTDIR)$(pkglibdir)'
	$(INSTALL_DATA) $<.debug '$(DESTDIR)$(pkglibdir)/gpuscan.so.debug'

uninstall: uninstall-library
uninstall-library:
	rm -f '$(DESTDIR)$(pkglibdir)/gpuscan.so' '$(DESTDIR)$(pkglibdir)/gpuscan.so.debug'

# As PGXS has it: the regression tests in a server that runs, which the PG* variables name and whose shared_preload_libraries have
# gpuscan. (check.sh's own server is set up so that plans and counters are the expected ones; others may show others.)
.PHONY: installcheck
installcheck:
	@mkdir -p $(BUILD)/installcheck && ln -sfn '$(CURDIR)/expected' $(BUILD)/installcheck/expected
	$(dir $(PGXS))../test/regress/pg_regress --bindir='$(bindir)' --dbname=contrib_regression --load-extension=gpuscan --inputdir=test \
	    --outputdir=$(BUILD)/installcheck $(if $(filter 15,$(MAJORVERSION)),,--expecteddir=$(BUILD)/installcheck) \
	    $(if $(TEST),support shapes $(filter-out support shapes,$(TEST)),--schedule=test/schedule)

# ---- programs ------------------------------------------------------------------------------------------------------

unit: $(UNIT_BUILD)/unit_tests

$(UNIT_BUILD)/unit_tests: $(UNIT_OBJECTS) $(ENGINE_OBJECTS) $(CALIBRATE_PURE_OBJECTS) $(CALIBRATE_SHARED) $(UNIT_RECORD)
	$(CXX) $(SANITIZE_FLAGS) -o $@ $(filter %.o,$^) -lgtest -lgtest_main -pthread -ldl -lm

$(UNIT_BUILD)/%.o: test/unit/%.cpp $(ENGINE_RECORD)
	@mkdir -p $(@D)
	$(COMPILER) $(ENGINE_FLAGS) -O1 -c -o $@ $<

# What threads share, for ThreadSanitizer (script/sanitized.sh): fewer tests than all, because it makes them 20 times as slow.
THREAD_TESTS := cache wal_follower session session_cache session_helper session_refusal slot_server in_parallel cached_join_tables kernel_cache compiler_processes device_process dictionary deferred_evaluation text_function deaths group_merge
.PHONY: thread-tests
thread-tests: $(UNIT_BUILD)/thread_tests

$(UNIT_BUILD)/thread_tests: $(THREAD_TESTS:%=$(UNIT_BUILD)/%_test.o) $(ENGINE_OBJECTS)
	$(CXX) $(SANITIZE_FLAGS) -o $@ $^ -lgtest -lgtest_main -pthread -ldl -lm

.PHONY: calibrate install-calibrate uninstall-calibrate
calibrate: $(CALIBRATE_BUILD)/gpuscan-calibrate $(EXPLAIN_BUILD)/gpuscan-explain

# (The arithmetic of device costs and their profile are the engine's.)
$(CALIBRATE_BUILD)/gpuscan-calibrate: $(CALIBRATE_OBJECTS) $(CALIBRATE_SHARED) $(CALIBRATE_BUILD)/plan_tree.o $(ENGINE_BUILD)/engine/cost/tier_cost.o $(ENGINE_BUILD)/engine/cost/executor_cost.o $(ENGINE_BUILD)/engine/cost/tier_profile.o
	$(CXX) -o $@ $^ $(LIBPQ) -pthread

$(EXPLAIN_BUILD)/gpuscan-explain: $(EXPLAIN_OBJECTS)
	$(CXX) -o $@ $^ $(LIBPQ)

$(CALIBRATE_BUILD)/main.o $(EXPLAIN_BUILD)/main.o: CALIBRATE_FLAGS += -DGPUSCAN_RELEASE='"$(RELEASE)"'
$(CALIBRATE_BUILD)/main.o $(EXPLAIN_BUILD)/main.o: META.json
$(EXPLAIN_BUILD)/%.o: explain/%.cpp $(CALIBRATE_RECORD)
	@mkdir -p $(@D)
	$(COMPILER) $(CALIBRATE_FLAGS) -isystem $(includedir) -c -o $@ $<

$(CALIBRATE_BUILD)/%.o: calibrate/%.cpp $(CALIBRATE_RECORD)
	@mkdir -p $(@D)
	$(COMPILER) $(CALIBRATE_FLAGS) -isystem $(includedir) -c -o $@ $<

$(CALIBRATE_BUILD)/plan_tree.o: bench/regret/plan_tree.cpp $(CALIBRATE_RECORD)
	@mkdir -p $(@D)
	$(COMPILER) $(CALIBRATE_FLAGS) -c -o $@ $<

$(CALIBRATE_SHARED): $(CALIBRATE_BUILD)/%.o: bench/common/%.cpp $(CALIBRATE_RECORD)
	@mkdir -p $(@D)
	$(COMPILER) $(CALIBRATE_FLAGS) -c -o $@ $<

install-calibrate: $(CALIBRATE_BUILD)/gpuscan-calibrate $(EXPLAIN_BUILD)/gpuscan-explain
	$(MKDIR_P) '$(DESTDIR)$(bindir)'
	$(INSTALL_PROGRAM) $^ '$(DESTDIR)$(bindir)'

uninstall-calibrate:
	rm -f '$(DESTDIR)$(bindir)/gpuscan-calibrate' '$(DESTDIR)$(bindir)/gpuscan-explain'

# For a machine with a GPU and little else: the CUDA device's tests and benchmark, and a stand-in for libcuda and NVRTC
# with which the tests run on any machine (test/cuda_emulator).
.PHONY: cuda-tools cuda-emulator
cuda-tools: $(UNIT_BUILD)/cuda_device_test $(BUILD)/bench/cuda_bench $(BUILD)/bench/group_bench $(BUILD)/bench/join_bench
cuda-emulator: $(BUILD)/emulator/libcuda.so.1 $(BUILD)/emulator/libnvrtc.so.13

$(UNIT_BUILD)/cuda_device_test: $(UNIT_BUILD)/cuda_device_test.o $(UNIT_BUILD)/cuda_decode_test.o $(UNIT_BUILD)/cuda_measure_test.o $(UNIT_BUILD)/codegen_test.o $(ENGINE_OBJECTS)
	$(CXX) -o $@ $^ -s -static-libstdc++ -static-libgcc -lgtest -lgtest_main -pthread -ldl -lm

$(BUILD)/bench/%_bench: bench/%_bench.cpp $(ENGINE_OBJECTS)
	@mkdir -p $(@D)
	$(COMPILER) $(ENGINE_FLAGS) -o $@ $^ -s -static-libstdc++ -static-libgcc -pthread -ldl -lm

$(BUILD)/emulator/libcuda.so.1: test/cuda_emulator/fake_cuda.cpp
$(BUILD)/emulator/libnvrtc.so.13: test/cuda_emulator/fake_nvrtc.cpp
$(BUILD)/emulator/%:
	@mkdir -p $(@D)
	$(COMPILER) $(COMMON_FLAGS) -O1 -shared -o $@ $< -ldl

bench-tools:
	$(MAKE) -C bench PG_CONFIG='$(PG_CONFIG)'

# What parses, under libFuzzer and the sanitizers. libFuzzer comes with clang, which Debian's PostgreSQL headers bring with them, and
# libclang-rt.
FUZZ_BUILD := $(BUILD)/fuzz
FUZZERS    := $(FUZZ_SOURCES:test/fuzz/parsers/%.cpp=$(FUZZ_BUILD)/%)
FUZZ_COMPILER := $(if $(shell command -v ccache 2>/dev/null),ccache )clang++
FUZZ_FLAGS := -std=c++17 -g1 -O1 -MMD -MP -Isrc -I. -fwrapv -fno-strict-aliasing -ffp-contract=off -fno-omit-frame-pointer \
	-fsanitize=fuzzer-no-link,address,undefined -fno-sanitize-recover=all -w $(DEFINES)
# (without the process around the sessions and what it measures)
FUZZED       := $(filter-out %/device_process.cpp %/device_setup.cpp %/self_measurement.cpp %/slot_server.cpp %_measure.cpp,$(filter-out src/cuda/%,$(ENGINE_SOURCES))) \
	src/cuda/kernel_file.cpp calibrate/checkpoint.cpp
FUZZ_OBJECTS := $(FUZZED:%.cpp=$(FUZZ_BUILD)/%.o)

.PHONY: fuzzers
fuzzers: $(FUZZERS)

$(FUZZERS): $(FUZZ_BUILD)/%: $(FUZZ_BUILD)/test/fuzz/parsers/%.o $(FUZZ_BUILD)/engine.a
	clang++ -fsanitize=fuzzer,address,undefined -o $@ $^ -lgtest -pthread -ldl -lm

$(FUZZ_BUILD)/engine.a: $(FUZZ_OBJECTS)
	rm -f $@
	ar rcs $@ $^

$(FUZZ_BUILD)/%.o: %.cpp
	@mkdir -p $(@D)
	$(FUZZ_COMPILER) $(FUZZ_FLAGS) -c -o $@ $<

.SECONDARY: $(FUZZ_SOURCES:%.cpp=$(FUZZ_BUILD)/%.o)

-include $(PG_OBJECTS:.o=.d) $(ENGINE_OBJECTS:.o=.d) $(UNIT_OBJECTS:.o=.d) $(CALIBRATE_OBJECTS:.o=.d) $(EXPLAIN_OBJECTS:.o=.d) $(CALIBRATE_BUILD)/plan_tree.d $(FUZZ_OBJECTS:.o=.d) $(FUZZ_SOURCES:%.cpp=$(FUZZ_BUILD)/%.d)
