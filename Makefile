# cspy's build. `make help` lists the targets.
#
# Source files are found by name: a new src/sink_NAME.c, src/cmd_NAME.c, src/view_NAME.c, runtimes/NAME/ or
# runtimes/NAME/layouts/VERSION.inc needs no line here.

VERSION := 0.1.0

BUILD  ?= build
PREFIX ?= /usr/local
# Where the interpreters of the live tests are kept. Shared by all builds; `make clean` leaves it.
CSPY_RUNTIMES ?= build/runtimes
FUZZ_SECONDS  ?= 20
SANITIZE      ?=
# STATIC=1: one file that needs nothing of the system that it runs on.
STATIC        ?=
# make V=1 shows whole commands.
say = $(if $(V),,@echo '  $(1)  $(@:$(BUILD)/%=%)' && )
export CSPY_RUNTIMES

PACKAGES := libelf libdw jansson libxxhash capstone ncursesw liblzma

.DEFAULT_GOAL := all
.DELETE_ON_ERROR:
.SECONDARY:
.SUFFIXES:
MAKEFLAGS += --no-builtin-rules --no-print-directory

# ---- What there is to build -------------------------------------------------------------------

GEN := $(BUILD)/gen
OBJ := $(BUILD)/obj

# $(call names,src/cmd_,.c,FILES): src/cmd_top.c -> top
names = $(sort $(patsubst $(1)%$(2),%,$(3)))

SOURCES      := $(sort $(wildcard src/*.c src/*.S runtimes/*/*.c))
RUNTIMES     := $(sort $(foreach f,$(wildcard runtimes/*/*.c),$(notdir $(patsubst %/,%,$(dir $(f))))))
SINKS        := $(call names,src/sink_,.c,$(wildcard src/sink_*.c))
COMMANDS     := $(call names,src/cmd_,.c,$(wildcard src/cmd_*.c))
VIEWS        := $(call names,src/view_,.c,$(wildcard src/view_*.c))
LAYOUT_NAMES := $(call names,runtimes/,/layouts,$(wildcard runtimes/*/layouts))

TABLES    := $(GEN)/runtime_table.c $(GEN)/sink_table.c $(GEN)/command_table.c \
		$(GEN)/view_table.c
GENERATED := $(TABLES) $(LAYOUT_NAMES:%=$(GEN)/%_layouts.inc)

LIB_OBJECTS  := $(patsubst %,$(OBJ)/%.o,$(basename $(filter-out src/main.c,$(SOURCES)))) \
		$(TABLES:$(GEN)/%.c=$(OBJ)/gen/%.o)
MAIN_OBJECT  := $(OBJ)/src/main.o

UNIT_TESTS   := $(patsubst %.c,$(BUILD)/%,$(sort $(wildcard tests/unit/test_*.c)))
UNIT_SUPPORT := $(patsubst %.c,$(OBJ)/%.o,$(sort $(wildcard tests/unit/support/*.c)))
LIVE_HELPERS := $(patsubst %.c,$(BUILD)/%,$(sort $(wildcard tests/live/*.c tests/browser/*.c)))
TOOLS        := $(patsubst %.c,$(BUILD)/%,$(sort $(wildcard tools/*.c)))
FUZZERS      := $(patsubst %.c,$(BUILD)/%,$(sort $(wildcard tests/fuzz/fuzz_*.c)))

# ---- Flags ------------------------------------------------------------------------------------

ifeq ($(origin CC),default)
CC := gcc
endif
OPTIMISE := $(if $(SANITIZE),-O1,-O2) -g
WARNINGS := -Wall -Wextra -Werror
# A folder sees the contracts in include/, and itself: $(<D) is the folder of the file compiled.
INCLUDES  = -Iinclude -I$(GEN) -I$(<D)
DEFINES  := -D_GNU_SOURCE -DCSPY_VERSION='"$(VERSION)"' $(if $(STATIC),-DCSPY_STATIC)
PKG_CFLAGS := $(shell pkg-config --cflags $(PACKAGES) 2>/dev/null)
LIBS       := $(shell pkg-config $(if $(STATIC),--static) --libs $(PACKAGES) 2>/dev/null) -liberty -lm
SANITIZER  := $(if $(SANITIZE),-fsanitize=$(SANITIZE) -fno-sanitize-recover=all -fno-omit-frame-pointer)

FLAGS = -std=gnu11 $(OPTIMISE) $(WARNINGS) $(DEFINES) $(INCLUDES) $(PKG_CFLAGS) $(SANITIZER) $(CPPFLAGS) $(CFLAGS)
LINK  = $(CC) $(SANITIZER) $(CFLAGS) $(if $(STATIC),-static) -Wl,--as-needed $(LDFLAGS)
# Tests may look inside: they see src/ and, as "NAME/layout.h", the runtimes.
TEST_INCLUDES := -Isrc -Iruntimes -Itests/unit/support

# ---- Building ---------------------------------------------------------------------------------

.PHONY: all
all: $(BUILD)/cspy ## build build/cspy

$(BUILD)/cspy: $(MAIN_OBJECT) $(BUILD)/libcspy.a
	$(call say,LD)$(LINK) -o $@ $^ $(LIBS)

$(BUILD)/libcspy.a: $(LIB_OBJECTS)
	@rm -f $@
	$(call say,AR)$(AR) rcs $@ $^

$(OBJ)/%.o: %.c $(BUILD)/flags | $(GENERATED)
	@mkdir -p $(@D)
	$(call say,CC)$(CC) $(FLAGS) -MMD -MP -c -o $@ $<

# Assembly embeds the files in src/assets with .incbin, which -MMD does not see.
$(OBJ)/%.o: %.S $(wildcard src/assets/*) $(BUILD)/flags
	@mkdir -p $(@D)
	$(call say,CC)$(CC) $(FLAGS) -Wa,-Isrc/assets -Wa,--noexecstack -MMD -MP -c -o $@ $<

$(OBJ)/gen/%.o: $(GEN)/%.c $(BUILD)/flags
	@mkdir -p $(@D)
	$(call say,CC)$(CC) $(FLAGS) -Isrc -MMD -MP -c -o $@ $<

$(OBJ)/tests/%.o: tests/%.c $(BUILD)/flags | $(GENERATED)
	@mkdir -p $(@D)
	$(call say,CC)$(CC) $(FLAGS) $(TEST_INCLUDES) -MMD -MP -c -o $@ $<

-include $(patsubst %.o,%.d,$(LIB_OBJECTS) $(MAIN_OBJECT) $(UNIT_SUPPORT)) \
	$(patsubst $(BUILD)/%,$(OBJ)/%.d,$(UNIT_TESTS) $(LIVE_HELPERS) $(FUZZERS) $(TOOLS))

.PHONY: static
static: ## build build/static/cspy, which runs in any container, whatever its libc
	@$(MAKE) BUILD=$(BUILD)/static STATIC=1 all

# ---- Generated from file names ----------------------------------------------------------------

# Each is made again every time and replaced only when it differs, so nothing else is rebuilt.
.PHONY: FORCE
FORCE:
replace_if_changed = cmp -s $@.new $@ && rm $@.new || mv $@.new $@

# $(call table,HEADER,STRUCT,PREFIX,NAMES): a NULL-terminated table of PREFIX_NAME
define table
@mkdir -p $(@D)
@{ printf '/* Made by the Makefile from file names. */\n#include <stddef.h>\n\n#include "%s"\n\n' '$(1)'; \
   for n in $(4); do echo "extern const struct $(2) $(3)_$$n;"; done; \
   printf '\nconst struct %s *const %s_table[] = {\n' '$(2)' '$(3)'; \
   for n in $(4); do printf '\t&%s_%s,\n' '$(3)' "$$n"; done; \
   printf '\tNULL,\n};\n'; } > $@.new
@$(replace_if_changed)
endef

$(GEN)/runtime_table.c: FORCE
	$(call table,cspy/runtime.h,runtime_ops,runtime,$(RUNTIMES))

$(GEN)/sink_table.c: FORCE
	$(call table,cspy/sink.h,sink_ops,sink,$(SINKS))

$(GEN)/command_table.c: FORCE
	$(call table,command.h,command,command,$(COMMANDS))

$(GEN)/view_table.c: FORCE
	$(call table,cspy/view.h,view_ops,view,$(VIEWS))

# Rows in version order; the compiler finds "layouts/X.Y.inc" from runtimes/NAME.
$(GEN)/%_layouts.inc: FORCE
	@mkdir -p $(@D)
	@(cd runtimes/$* && ls layouts) | sed -n 's|.*\.inc$$|#include "layouts/&"|p' | sort -V > $@.new
	@$(replace_if_changed)

# What was compiled with other flags is compiled again.
$(BUILD)/flags: FORCE
	@mkdir -p $(@D)
	@pkg-config --exists $(PACKAGES) || { echo 'Libraries are missing; tools/setup build installs them.' >&2; exit 1; }
	@printf '%s\n' '$(CC)' '$(subst ','\'',$(FLAGS))' > $@.new
	@$(replace_if_changed)

# ---- Installing and showing -------------------------------------------------------------------

# The manual page and the completions come from the option tables in the program.
SHARE = $(DESTDIR)$(PREFIX)/share
.PHONY: install
install: all ## install into DESTDIR/PREFIX (/usr/local): program, manual page, completions
	install -D -m 755 $(BUILD)/cspy $(DESTDIR)$(PREFIX)/bin/cspy
	@mkdir -p $(BUILD)/pages
	@for kind in man bash zsh fish; do $(BUILD)/cspy completions $$kind >$(BUILD)/pages/$$kind || exit 1; done
	install -D -m 644 $(BUILD)/pages/man $(SHARE)/man/man1/cspy.1
	install -D -m 644 $(BUILD)/pages/bash $(SHARE)/bash-completion/completions/cspy
	install -D -m 644 $(BUILD)/pages/zsh $(SHARE)/zsh/vendor-completions/_cspy
	install -D -m 644 $(BUILD)/pages/fish $(SHARE)/fish/vendor_completions.d/cspy.fish

.PHONY: deb
deb: static ## build a Debian package of the static program: build/cspy_VERSION_ARCHITECTURE.deb
	@tools/make-deb $(BUILD) $(VERSION)

.PHONY: demo
demo: ## install what is missing, build, and record a small Python program into flame.svg
	@tools/setup build demo
	@$(MAKE) all
	@tools/demo $(BUILD)/cspy flame.svg

# ---- Checking ---------------------------------------------------------------------------------

.PHONY: check
check: ## everything: builds, lint, unit, live and browser tests; closes with the counts
	@tools/setup build demo check lint browser
	@BUILD=$(BUILD) tools/run-checks gcc clang lint unit asan fuzz runtimes live browser

.PHONY: check-unit
check-unit: ## unit tests only
	@BUILD=$(BUILD) tools/run-checks unit

.PHONY: check-live
check-live: all live-helpers ## tests on real interpreters only (PYTEST_ARGS="-k ..." chooses)
	@BUILD=$(BUILD) tools/run-checks runtimes live

.PHONY: check-kill
check-kill: all ## kill cspy 1,000 times while it pauses a program, which must run on
	@CSPY_KILLS=1000 PYTEST_ARGS='--timeout=1200 -k killed_cspy_leaves_every_thread' BUILD=$(BUILD) tools/run-checks live

.PHONY: check-browser
check-browser: all live-helpers ## tests of what a browser shows only
	@BUILD=$(BUILD) tools/run-checks browser

.PHONY: runtimes
runtimes: ## fetch the interpreters that the live tests need
	@fixtures/runtimes/fetch

.PHONY: unit-tests
unit-tests: $(UNIT_TESTS)

$(BUILD)/tests/unit/%: $(OBJ)/tests/unit/%.o $(UNIT_SUPPORT) $(BUILD)/libcspy.a
	@mkdir -p $(@D)
	$(call say,LD)$(LINK) -o $@ $^ $(LIBS) -lcmocka

# Programs that live and browser tests run: tests/live/NAME.c, tests/browser/NAME.c.
.PHONY: live-helpers
live-helpers: $(LIVE_HELPERS)

# Where it is there, libunwind-ptrace is a second judge.
LIBUNWIND := $(shell pkg-config --exists libunwind-ptrace && pkg-config --libs libunwind-ptrace)
$(OBJ)/tests/live/unwind_judge.o: DEFINES += $(if $(LIBUNWIND),-DWITH_LIBUNWIND)
$(BUILD)/tests/live/unwind_judge: LIBS += $(LIBUNWIND)

$(BUILD)/tests/live/%: $(OBJ)/tests/live/%.o $(BUILD)/libcspy.a
	@mkdir -p $(@D)
	$(call say,LD)$(LINK) -o $@ $^ $(LIBS)

$(BUILD)/tests/browser/%: $(OBJ)/tests/browser/%.o $(BUILD)/libcspy.a
	@mkdir -p $(@D)
	$(call say,LD)$(LINK) -o $@ $^ $(LIBS)

.PHONY: asan
asan: ## unit and live tests with address and undefined-behaviour sanitizers
	@BUILD=$(BUILD) tools/run-checks asan runtimes asan-live

.PHONY: asan-build
asan-build:
	@$(MAKE) BUILD=$(BUILD)/asan SANITIZE=address,undefined all unit-tests live-helpers

.PHONY: clang
clang: ## build with clang, in a folder of its own
	@$(MAKE) BUILD=$(BUILD)/clang CC=clang all unit-tests live-helpers

.PHONY: fuzz
fuzz: ## run each fuzzer for FUZZ_SECONDS
	@$(MAKE) BUILD=$(BUILD)/fuzz CC=clang SANITIZE=fuzzer-no-link,address,undefined run-fuzzers

$(BUILD)/tests/fuzz/%: $(OBJ)/tests/fuzz/%.o $(UNIT_SUPPORT) $(BUILD)/libcspy.a
	@mkdir -p $(@D)
	$(call say,LD)$(LINK) -fsanitize=fuzzer -o $@ $^ $(LIBS) -lcmocka

# What a fuzzer finds is kept in the build folder; tests/fuzz/corpus/NAME holds the seeds.
.PHONY: run-fuzzers
run-fuzzers: $(FUZZERS)
	@for f in $(FUZZERS); do \
		n=$${f##*/fuzz_}; mkdir -p $(BUILD)/corpus/$$n; \
		seeds=tests/fuzz/corpus/$$n; [ -d "$$seeds" ] || seeds=; \
		echo "fuzz $$n: $(FUZZ_SECONDS) s"; \
		$$f -max_total_time=$(FUZZ_SECONDS) -verbosity=0 -print_final_stats=1 -timeout=10 \
			-artifact_prefix=$(BUILD)/$$n- $(BUILD)/corpus/$$n $$seeds || exit 1; \
	done

.PHONY: lint
lint: ## clang-format, clang-tidy, cppcheck and the layer rules
	@BUILD=$(BUILD) tools/run-checks lint

# A file is looked at again only when it, or a header of its, changed: its object says so.
TIDY := $(patsubst %.c,$(BUILD)/tidy/%,$(filter %.c,$(SOURCES)))
.PHONY: tidy
tidy: $(TIDY)
$(BUILD)/tidy/%: %.c $(OBJ)/%.o .clang-tidy
	@mkdir -p $(@D)
	$(call say,TIDY)clang-tidy --quiet $< -- -std=gnu11 $(DEFINES) $(INCLUDES) $(PKG_CFLAGS) 2>$@.log || { cat $@.log; exit 1; }
	@touch $@

C_FILES = $(wildcard include/cspy/*.h src/*.[ch] runtimes/*/*.[ch] tests/unit/*.[ch] tests/unit/support/*.[ch] tests/live/*.c tests/browser/*.c tests/fuzz/*.[ch] tools/*.c)
.PHONY: format format-check cppcheck
format: ## lay out all C files with clang-format
	clang-format -i $(C_FILES)

format-check:
	@clang-format --dry-run -Werror $(C_FILES)

# Wrong here: returnDanglingLifetime (a struct err is taken for one that holds the addresses given to the call), and
# ctuuninitvar (a buffer that a read is about to fill).
cppcheck: $(GENERATED)
	@mkdir -p $(BUILD)/cppcheck
	@cppcheck --quiet --error-exitcode=1 --std=c11 --enable=warning,performance,portability --inline-suppr \
		--suppress=missingIncludeSystem --suppress=returnDanglingLifetime \
		--suppress=ctuuninitvar --cppcheck-build-dir=$(BUILD)/cppcheck \
		$(DEFINES) -Iinclude -Isrc -I$(GEN) $(addprefix -Iruntimes/,$(RUNTIMES)) src runtimes

# For maintainers: tools/NAME.c makes build/tools/NAME.
.PHONY: tools
tools: $(TOOLS) ## build the maintainers' programs of tools/
# gen-layouts fills the structs of runtimes/cpython/layout.h; record-snapshot says what the tests will say.
$(OBJ)/tools/%.o: tools/%.c $(BUILD)/flags
	@mkdir -p $(@D)
	$(call say,CC)$(CC) $(FLAGS) -Iruntimes/cpython $(TEST_INCLUDES) -MMD -MP -c -o $@ $<

$(BUILD)/tools/%: $(OBJ)/tools/%.o $(UNIT_SUPPORT) $(BUILD)/libcspy.a
	@mkdir -p $(@D)
	$(call say,LD)$(LINK) -o $@ $^ $(LIBS) -lcmocka

.PHONY: bench
bench: all live-helpers ## cspy beside its peers, in one run
	@tools/setup bench
	@CSPY=$(abspath $(BUILD)/cspy) bench/run
	@bench/native $(BUILD)
	@CSPY=$(abspath $(BUILD)/cspy) bench/top

.PHONY: bench-top
bench-top: all ## what the live view costs, beside py-spy's and rbspy's
	@tools/setup bench
	@CSPY=$(abspath $(BUILD)/cspy) bench/top

# ---- Cleaning ---------------------------------------------------------------------------------

.PHONY: clean
clean: ## remove what was built; keep the fetched interpreters
	rm -rf $(addprefix $(BUILD)/,cspy libcspy.a flags gen obj tests tools tidy cppcheck asan clang fuzz live.xml static pages deb) $(wildcard $(BUILD)/cspy_*.deb)

.PHONY: distclean
distclean: clean ## remove the fetched interpreters too
	rm -rf $(CSPY_RUNTIMES) tests/browser/node_modules

.PHONY: help
help: ## this list
	@sed -n 's/^\([a-z-]*\):[^#]*## \(.*\)/  \1\t\2/p' $(firstword $(MAKEFILE_LIST)) | expand -t 18
