# Builds, runs and tests Dunlin. Each target sees to its own set-up.
#
#   make run [ARGS="..."]    opens a chat
#   make test                everything that has to hold before a change goes in
#   make test-quick          the unit tests: for every change
#   make browser             installs Chromium where it is missing, as `make test` does
#   make check-quick         whether the program compiles, in seconds
#   make dev [ARGS="..."]    opens a chat as `make run` does, built in seconds after a change; it runs slower
#   make check               formatting, lints and documentation, with all tests and benchmarks compiled
#   make build               leaves release/dunlin in the target folder
#   make bench               runs the benchmarks, and the fuzzers for a moment
#   make fuzz [MINUTES=10]   runs the fuzzers, one after the other, for so long each
#   make search-quality      measures how well questions find the files they mean; fetches a gigabyte of sources
#   make tasks               gives forty small tasks to the tools, played by transcripts of a model
#   make quirks              plays the oddities of servers, also against the chats named in DUNLIN_PEERS
#   make fmt                 formats the sources
#   make clean               removes the target folder
#
# DUNLIN_WASM=installed|build-std forces how the tools are compiled for wasm; see plugins/builder.

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := build
.PHONY: run dev test test-quick check check-quick build bench fuzz search-quality tasks quirks setup browser fmt clean

CARGO ?= cargo
TARGET_DIR := $(or $(CARGO_TARGET_DIR),target)

# What people run.
PROFILE := --release --locked

# What is only checked and tested is optimised once: doing it again over the pieces of each crate makes what it computes
# faster by a tenth, and takes a fifth of the time of all dependencies. What people run has it, so they are compiled for each.
TESTED := $(PROFILE) --config 'profile.release.lto="off"'

# Tests run our own code unoptimised: optimising it takes longer than all tests.
OWN := $(addprefix dunlin-,apps ask-user chat code code-index codebase-search edit-file host js-engine list-files local mcp-bridge \
	params project-files provider read-file run-subagent run-terminal-command sdk search-text terminal tests todo web-fetch \
	web-search write-file zoo) dunlin
UNOPTIMISED := $(foreach crate,$(OWN),--config 'profile.release.package.$(crate).opt-level=0')
# Whoever builds once (CARGO_INCREMENTAL=0) saves what the next build would gain. Tests wait for programs most of the time.
INCREMENTAL = CARGO_INCREMENTAL=$${CARGO_INCREMENTAL:-1}
CARGO_TEST = $(INCREMENTAL) RUST_TEST_THREADS=$${RUST_TEST_THREADS:-$$((3 * $$(nproc)))} \
	$(CARGO) test $(TESTED) --workspace $(UNOPTIMISED)

# Says what a step is and how long it took.
step = @echo "==> $(1)"; start=$$SECONDS; $(2); echo "==> $(1): $$((SECONDS - start)) s"

run: build
	@exec "$(TARGET_DIR)/release/dunlin" $(ARGS)

# The whole workspace, so that its crates are those of the tests.
dev: setup
	@$(INCREMENTAL) $(CARGO) build $(TESTED) --workspace --bin dunlin $(UNOPTIMISED)
	@exec "$(TARGET_DIR)/release/dunlin" $(ARGS)

build: setup
	@$(CARGO) build $(PROFILE) --package dunlin

test: browser check
	$(call step,tests,$(CARGO_TEST))

test-quick: setup
	@$(CARGO_TEST) --lib --exclude 'guest-*'

# Checking the tests as well would take four times as long.
check-quick: setup
	@$(INCREMENTAL) $(CARGO) check $(TESTED) --workspace --lib --bin dunlin $(UNOPTIMISED)

check: setup
	$(call step,format,$(CARGO) fmt --all --check)
	$(call step,clippy,$(CARGO) clippy $(TESTED) --workspace --all-targets -- --deny warnings)
	$(call step,docs,RUSTDOCFLAGS="--deny warnings" $(CARGO) doc $(TESTED) --workspace --no-deps)

# The pool of threads as the program has it.
bench: setup
	@RAYON_NUM_THREADS=$${RAYON_NUM_THREADS:-$$(( ($$(nproc) + 1) / 2 ))} $(CARGO) bench --locked --workspace

fuzz: setup
	@$(CARGO) bench --locked --workspace --bench 'fuzz_*' -- --minutes $(or $(MINUTES),10)

search-quality: setup
	@./tests/benchmarks/search/run

tasks: setup
	@./tests/benchmarks/tasks/run

quirks: setup
	@$(CARGO) build $(PROFILE) --workspace --bins
	@"$(TARGET_DIR)/release/quirk-table"

setup:
	@./plugins/builder/setup

# What the tests of pages of apps run in.
browser:
	@./plugins/builder/setup browser

fmt:
	@$(CARGO) fmt --all

clean:
	@$(CARGO) clean
