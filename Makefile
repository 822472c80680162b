# SPDX-License-Identifier: Apache-2.0
# The everyday commands; each is a few lines over the CMake presets. `make` lists them.

SHELL := bash
.SHELLFLAGS := -o pipefail -ec
JOBS ?= $(shell nproc)
PREFIX ?= /usr/local
CLANG_FORMAT ?= clang-format
RUN_CLANG_TIDY ?= run-clang-tidy
BENCH_FLAGS ?=
FUZZ_SECONDS ?= 3
FUZZ_FLAGS ?=

release := build/release
binary := $(release)/cli/zoetrope
formatted := git ls-files --cached --others --exclude-standard -z '*.h' '*.cc'

.PHONY: help dependencies lint-dependencies fuzz-dependencies configure demo test build bench asan \
        fuzz install format lint check-format check-includes check-tidy clean

help: ## List these commands
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  make \1\t\2/p' $(MAKEFILE_LIST) | expand -t 24

demo: build ## Run the main job on the bundled clip and show what it did, in demo-output/
	@demo/run.sh $(binary)

test: configure ## Build everything and run all tests
	cmake --build --preset release --parallel $(JOBS)
	ctest --preset release --parallel $(JOBS)

build: configure ## Build the command-line tool alone: build/release/cli/zoetrope
	cmake --build --preset release --parallel $(JOBS) --target cli/zoetrope

bench: configure ## Measure the kernels against this machine's peak (BENCH_FLAGS=...)
	cmake --build --preset release --parallel $(JOBS) --target bench/kernels/kernels_bench
	$(release)/bench/kernels/kernels_bench $(BENCH_FLAGS)

asan: dependencies ## Build and test under AddressSanitizer and UBSan
	cmake --preset asan
	cmake --build --preset asan --parallel $(JOBS)
	ctest --preset asan --parallel $(JOBS)

fuzz: fuzz-dependencies ## Run the fuzz targets of all readers, FUZZ_SECONDS=3 each
	cmake --preset fuzz -DZOETROPE_FUZZ_SECONDS=$(FUZZ_SECONDS) $(FUZZ_FLAGS)
	cmake --build --preset fuzz --parallel $(JOBS)
	ctest --preset fuzz --parallel $(JOBS)

install: configure ## Install the tool, the library and its headers (PREFIX=/usr/local)
	cmake --build --preset release --parallel $(JOBS)
	cmake --install $(release) --prefix $(PREFIX)

lint: check-format check-includes check-tidy ## Check format, include rules and clang-tidy

format: lint-dependencies ## Rewrite all sources with clang-format
	$(formatted) | xargs -0 -r $(CLANG_FORMAT) -i

clean: ## Remove what was built
	rm -rf build demo-output

dependencies:
	@tools/install_dependencies.sh

fuzz-dependencies:
	@tools/install_dependencies.sh fuzz

lint-dependencies:
	@tools/install_dependencies.sh lint

configure: dependencies
	@cmake --preset release

check-format: lint-dependencies
	$(formatted) | xargs -0 -r $(CLANG_FORMAT) --dry-run --Werror

check-includes:
	tools/check_includes.py

check-tidy: lint-dependencies configure
	@echo "$(RUN_CLANG_TIDY) -p $(release), report in $(release)/clang-tidy.txt"
	@$(RUN_CLANG_TIDY) -quiet -j $(JOBS) -p $(release) -extra-arg=-Wno-unknown-warning-option \
	    >$(release)/clang-tidy.txt 2>&1 || \
	    { grep -v 'warnings generated\|^clang-tidy' $(release)/clang-tidy.txt; exit 1; }
