# gpuscan: build, installation and the targets of the house.
#
#   make                      build build/pgNN/gpuscan.so for the PostgreSQL of PG_CONFIG (default: pg_config in PATH)
#   make install              install it there; DESTDIR=... and PG_CONFIG=... work as usual; make install-debug: its debug information, too
#   make installcheck         the regression tests (TEST="joins": these) in a server that runs, with gpuscan preloaded
#   make demo [SF=1]          packages, build, private server, Star Schema Benchmark at this scale factor; says what to try next
#   make demo-events [SF=1]   the same with a dashboard's questions to the events of a web shop: texts, jsonb, NULLs, retention
#   make demo-stop            stops the demos' server, which stays up until then, and removes it with its data
#   make calibrate-demo       packages, build, private server, gpuscan-calibrate from search to undo on queries like TPC-H's
#   make check [PG=17]        packages, build, private server, every test; last line "N passed, N failed"
#   make check TEST="joins cancel"    the tests of these names, of whatever group (unit: cache for test/unit/cache_test.cpp)
#   make stress [SECONDS=600] the concurrency stress alone
#   make fuzz [QUERIES=100000] [SEED=1] [CLASSES=deep,...] [CLASS_QUERIES=20000]   random queries, the whole matrix of types by operators,
#                             and queries of the classes in which defects were found, compared (QUERIES=0: only the classes)
#   make fuzz-parsers [SECONDS=60]        libFuzzer on everything that parses, so long each
#   make emulated [PROGRAMS=40] [QUERIES=150] [SEED=1]      the CUDA device without a GPU: random programs and queries, kernels compiled by g++
#   make sanitized [SHARE=100]  the tests under AddressSanitizer, UBSan and ThreadSanitizer, or a share of them, in per cent
#   make oracle [PG=17]       the page cost model's plans against a server with the same formulas in its own source
#   make neutral [PG=17]      PostgreSQL's own tests with page costs that are PostgreSQL's: every output and plan the same
#   make core [PG=17] [MODE=auto] [TESTS="isolation"]   PostgreSQL's own tests on the device, each statement compared with PostgreSQL's;
#                             TESTS: its isolation tests instead, its recovery tests ("recovery [TEST...]"), or names of tests (test/core/*.sh)
#   make sqlsmith [QUERIES=20000] [SECONDS=1200] [PG=17] [SEED=1]   sqlsmith's statements over PostgreSQL's regression database, on the device
#   make pg-17 | pg-18        PostgreSQL from source with assertions, into a cache, for make check PG=...
#   make dist                 the sources of this commit as build/gpuscan-RELEASE.tar.gz and .zip (the latter for PGXN)
#   make deb                  Debian packages in build/deb, for each PostgreSQL whose development files are installed
#   make deb-check            ... looked at by lintian, installed into a bare Debian 12 and used there; needs root
#   make calibrate            the clients: gpuscan-calibrate, which finds weights of the cost model, and gpuscan-explain, which makes a page
#                             of a plan; make install-calibrate
#   make unit | bench-tools   only the unit test program | only the benchmarks' programs
#   make coverage [ROWS=50000]   after a change of what devices can do: writes the tables of doc/sql-support.md, and asks every function,
#                             operator and aggregate of PostgreSQL over common types, on tables of so many rows: what runs, which answers differ
#   make help                 this text
#   make format | lint        rewrite by clang-format | formatter check and linters
#
# Settings: PG_CONFIG, PG (a major version: the cached build of that version, else the installed one), BUILD (default
# build), ERROR_ON_WARNING=1, SANITIZE=address,undefined (of the compiler, into a build of its own: build/sanitized), DEFINES="-D..." (compiled into everything), CHECK="unit regress ..." (groups of make check).
#
# Objects of the engine know neither PostgreSQL nor CUDA and are built once, in $(BUILD)/engine; objects that see server
# headers are built per major version, in $(BUILD)/pgNN. Nothing of the extension is built beside its sources.

BUILD ?= build$(if $(SANITIZE),/sanitized$(if $(findstring thread,$(SANITIZE)),-thread))
export SANITIZE
unexport SECONDS

# Targets that run before PostgreSQL's development files are there, because they install them.
HOUSE = demo demo-events demo-stop calibrate-demo dist deb deb-check check stress fuzz fuzz-parsers emulated sanitized coverage oracle neutral core sqlsmith help setup pg-15-patched pg-15-oracle pg-17-oracle pg-18-oracle pg-17 pg-18 format lint clean distclean

.PHONY: all install unit calibrate bench-tools thread-tests fuzzers $(HOUSE)
all:

ifneq ($(filter-out $(HOUSE),$(or $(MAKECMDGOALS),all)),)
include script/build.mk
else

demo:
	+@BUILD='$(BUILD)' script/demo.sh

demo-events:
	+@BUILD='$(BUILD)' script/demo.sh events

demo-stop:
	@BUILD='$(BUILD)' script/demo.sh stop

calibrate-demo:
	+@BUILD='$(BUILD)' script/calibrate-demo.sh

dist:
	script/dist.sh

deb:
	@BUILD='$(BUILD)' script/deb.sh

deb-check:
	@BUILD='$(BUILD)' script/deb-check.sh

help:
	@sed -n '/^#/!q; s/^# \{0,1\}//p' Makefile

check:
	+@BUILD='$(BUILD)' PG='$(PG)' TEST='$(TEST)' script/check.sh $(CHECK)

# (SECONDS is a variable of the shell's own, so it goes under another name.)
stress:
	+@BUILD='$(BUILD)' PG='$(PG)' STRESS_SECONDS='$(or $(SECONDS),600)' script/check.sh stress

fuzz:
	+@BUILD='$(BUILD)' PG='$(PG)' $(if $(CLASSES),CLASSES='$(CLASSES)') $(if $(CLASS_QUERIES),CLASS_QUERIES='$(CLASS_QUERIES)') \
	    script/fuzz.sh $(or $(QUERIES),100000) $(SEED)

fuzz-parsers:
	+@BUILD='$(BUILD)' script/fuzz-parsers.sh $(or $(SECONDS),60)

emulated:
	+@BUILD='$(BUILD)' PG='$(PG)' script/emulated.sh $(or $(PROGRAMS),40) $(or $(QUERIES),150) $(SEED)

sanitized:
	+@BUILD='$(BUILD)' PG='$(PG)' script/sanitized.sh $(or $(SHARE),100)

coverage:
	+@BUILD='$(BUILD)' PG='$(PG)' ROWS='$(or $(ROWS),50000)' script/coverage.sh

oracle:
	+@BUILD='$(BUILD)' PG='$(PG)' script/oracle.sh

neutral:
	+@BUILD='$(BUILD)' PG='$(PG)' script/neutral.sh

core:
	+@BUILD='$(BUILD)' $(if $(filter recovery,$(TESTS)),test/core/recovery.sh PG=$(or $(PG),15) $(filter-out recovery,$(TESTS)),\
	    test/core/run.sh PG=$(or $(PG),15) $(or $(MODE),force) $(TESTS))

sqlsmith:
	+@BUILD='$(BUILD)' test/sqlsmith/run.sh PG=$(or $(PG),17) $(or $(QUERIES),20000) $(or $(SECONDS),1200) $(SEED)

setup:
	script/setup.sh

pg-17 pg-18:
	script/build-postgres.sh $(@:pg-%=%)

pg-15-patched:
	script/build-postgres.sh 15 patched $(sort $(wildcard test/patches/*.patch))

pg-15-oracle pg-17-oracle pg-18-oracle:
	script/build-postgres.sh $(@:pg-%-oracle=%) oracle test/oracle/postgresql-$(@:pg-%-oracle=%).patch

format:
	script/lint.sh --fix

lint:
	script/lint.sh

clean distclean: demo-stop
	rm -rf $(BUILD)
	$(if $(wildcard bench/Makefile),-@$(MAKE) -s -C bench clean)

endif
