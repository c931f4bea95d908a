# What a person types.  `make demo` and `make test` each work alone on a fresh machine; the rest is for daily work.
# A second run is quick: packages are installed anew only when pyproject.toml or constraints.txt moved.

SHELL := /bin/sh
.SHELLFLAGS := -euc
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.NOTPARALLEL:

# Another interpreter: make test PYTHON=/opt/python3.12/bin/python3.  Left empty, the first of these that is 3.11 or newer.
PYTHON ?=
CANDIDATES := python3.11 python3.12 python3.13 python3
# More words for pytest: make test ARGS="tests/host -x".
ARGS ?=
# How many processes run the tests side by side; a file's tests stay together.
WORKERS ?= 2

VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check install --quiet -c constraints.txt
MODERN := import sys; sys.exit(sys.version_info < (3, 11))
VENV_READY := import ensurepip, venv, sys; sys.exit(sys.version_info < (3, 11))

.PHONY: help demo install test judges check kill machine compiler

help:
	@echo "make demo     the first ten minutes: a page with a channel in it; the real model follows in the background"
	@echo "make install  everything: .venv with the deskhand command, the engine (3 minutes) and the model (1.1 GB)"
	@echo "make test     everything, then all tests; on Debian as root it installs what else they need"
	@echo "make kill     kills the host before and after every write, and lets another process go on (about ten minutes)"
	@echo "make check    linters, types and import contracts"

demo: $(VENV)/.base
	@exec $(BIN)/deskhand demo

install: compiler $(VENV)/.full
	@$(BIN)/deskhand model fetch

test: machine install judges
	@exec $(BIN)/python -m pytest -n $(WORKERS) --dist loadfile $(ARGS)

# Other people's servers and suites, exactly pinned, into build/judges: before pytest, which reaches loopback alone.
judges: $(VENV)/.base
	@$(BIN)/python tests/judges/install.py

kill: $(VENV)/.full
	@DESKHAND_KILL=all $(BIN)/python -m pytest tests/scenarios/kill -q --timeout 1800

check: $(VENV)/.full
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/mypy
	@$(BIN)/lint-imports

$(BIN)/python:
	@python="$(PYTHON)"; \
	for name in $(if $(PYTHON),,$(CANDIDATES)); do \
	  if "$$name" -c '$(MODERN)' 2>/dev/null; then python="$$name"; break; fi; \
	done; \
	if [ -z "$$python" ] || ! "$$python" -c '$(MODERN)' 2>/dev/null; then \
	  echo "No Python 3.11 or newer$${python:+ ($$python is none)}: install one (Debian: apt-get install python3 python3-venv), or name it: make PYTHON=/path/to/python3.11" >&2; exit 1; \
	fi; \
	if ! "$$python" -c 'import ensurepip, venv' 2>/dev/null; then \
	  echo "$$python has no venv module: install it (Debian: apt-get install python3-venv), then run make again" >&2; exit 1; \
	fi; \
	echo "Making $(VENV) with $$("$$python" --version)"; \
	"$$python" -m venv $(VENV)

# What the page, the host and the servers need: seconds, no compiler.
$(VENV)/.base: pyproject.toml constraints.txt | $(BIN)/python
	@echo "Installing the Python packages"
	@$(PIP) -e .
	@touch $@

# The engine is built from source, once: pip keeps the wheel.
$(VENV)/.full: $(VENV)/.base
	@echo "Installing the engine and the tools (the engine's first build takes about three minutes)"
	@$(PIP) -e ".[llama,dev,postgres]"
	@touch $@

compiler:
	@command -v c++ >/dev/null || command -v g++ >/dev/null || command -v clang++ >/dev/null || { \
	  echo "No C++ compiler: install one (Debian: apt-get install build-essential; macOS: xcode-select --install), then run make again" >&2; exit 1; }

# What the tests need that pip can't bring.  As root on Debian it is installed; anyone else is told the command.
machine:
	@need=""; \
	command -v c++ >/dev/null || need="$$need build-essential"; \
	command -v chromium >/dev/null || need="$$need chromium fonts-liberation"; \
	command -v npm >/dev/null || need="$$need npm"; \
	if [ ! -x $(BIN)/python ] && [ -z "$(PYTHON)" ]; then \
	  found=""; \
	  for name in $(CANDIDATES); do \
	    if "$$name" -c '$(VENV_READY)' 2>/dev/null; then found="$$name"; break; fi; \
	  done; \
	  [ -n "$$found" ] || need="$$need python3 python3-venv"; \
	fi; \
	[ -n "$$need" ] || exit 0; \
	if ! command -v apt-get >/dev/null; then \
	  echo "The tests need what Debian calls:$$need. Install these, then run make test again" >&2; exit 1; \
	fi; \
	if [ "$$(id -u)" != 0 ]; then \
	  echo "The tests need more; run: sudo apt-get update && sudo apt-get install$$need" >&2; exit 1; \
	fi; \
	echo "Installing$$need"; \
	export DEBIAN_FRONTEND=noninteractive; \
	log="$$(mktemp)"; \
	if ! { apt-get update -q && apt-get install -y -q --no-install-recommends $$need; } >"$$log" 2>&1 </dev/null; then \
	  tail -n 5 "$$log" >&2; echo "apt-get could not install$$need (all of its output: $$log)" >&2; exit 1; \
	fi; \
	rm -f "$$log"
