# Slackwater: bare `make` explains itself.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.ready
WARM := $(VENV)/.warm

# where it is set, each of the hundreds of processes that tests start compiles all modules anew
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.PHONY: help setup warm demo test others gateways quick onspark test-spark fuzz lint bench kill manual \
  newcomer lock clean

help:  ## this text
	@echo "Slackwater: event streams that arrive late and out of order, put right on Spark."
	@echo
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /|/' | \
	  awk -F'|' '{printf "  make %-10s %s\n", $$1, $$2}'
	@echo
	@echo "Needs Python 3.11 or newer and make; all else is fetched into $(VENV)."

setup: $(STAMP) $(WARM)  ## make .venv, with the slackwater command in it and its kernels compiled

$(STAMP): requirements.lock pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Slackwater needs Python 3.11 or newer")'
	@test -x $(BIN)/python || { echo "making $(VENV)"; $(PYTHON) -m venv $(VENV); }
	@$(BIN)/python setup/fetch.py $(BIN)/python requirements.lock
	$(BIN)/python -m pip install --quiet --no-deps --no-build-isolation --editable .
	@touch $@

$(WARM): $(STAMP)
	@echo "compiling the kernels, once: about two minutes"
	$(BIN)/slackwater warm
	@touch $@

warm: $(STAMP)  ## compile all kernels now; done already, it takes seconds
	$(BIN)/slackwater warm --quiet

# without `setup`: it compiles what it needs while it runs
demo: $(STAMP)  ## the whole story on local Spark: Spark alone and Slackwater against the truth
	$(BIN)/slackwater demo

# side by side: the tests of the one Spark session mostly wait for it, those of gateways and kills for
# servers and clocks, the others compute; those that start a Spark of their own follow the gateways'
KILLS := tests/spark/test_pipeline_kills.py
ALONE := tests/spark/test_pipeline_on_connect.py tests/spark/test_run_dashboard.py \
  tests/spark/test_new_user.py
APART := $(KILLS) $(ALONE)

# the kernels are compiled once, before several processes want them at the same time
test: warm  ## everything: style, types, all tests
	$(MAKE) -j4 --output-sync=target --no-print-directory lint gateways others onspark

others: $(STAMP)
	$(BIN)/python -m pytest -q --ignore=tests/spark --ignore=tests/gateway

gateways: $(STAMP)
	$(BIN)/python -m pytest -q tests/gateway $(KILLS)
	$(BIN)/python -m pytest -q $(ALONE)

onspark: $(STAMP)  ## the tests of the shared Spark session, with brokers and sinks
	$(BIN)/python -m pytest -q tests/spark $(APART:%=--ignore=%)

# laid over .venv, and not in it: the other Spark is half a gigabyte, and all else is the same
SPARKS := $(or $(XDG_CACHE_HOME),$(HOME)/.cache)/slackwater/sparks

test-spark: $(STAMP)  ## the same on another Spark: make test-spark VERSION=4.1 (TESTS=... for some)
	@test -n "$(VERSION)" || { echo "say which: make test-spark VERSION=4.1, or 4.2"; exit 2; }
	test -d $(SPARKS)/$(VERSION) || $(BIN)/python -m pip install --quiet \
	  --target $(SPARKS)/$(VERSION) "pyspark==$(VERSION).*"
	PYTHONPATH=$(SPARKS)/$(VERSION) $(BIN)/python -m pytest -q $(or $(TESTS),tests/spark) \
	  $(ALONE:%=--ignore=%)

quick: $(STAMP)  ## the tests that need no Spark
	$(BIN)/python -m pytest -q --ignore=tests/spark

fuzz: $(STAMP)  ## property tests with new random examples, FUZZ times as many (default 20), and TEXTS nearly-queries (1000000; 600s: for so long)
	SLACKWATER_FUZZ=$(or $(FUZZ),20) $(BIN)/python -m pytest -q -m hypothesis --ignore=tests/spark
	$(BIN)/python -m tests.query.fuzz $(or $(TEXTS),1000000)

lint: $(STAMP)  ## ruff and mypy
	$(BIN)/ruff check .
	$(BIN)/mypy

bench: $(STAMP)  ## speed as ratios against references, written to benchmarks/latest.json
	$(BIN)/python -m benchmarks

kill: $(STAMP)  ## SIGKILLs of drivers, executors, gateways and brokers, nothing lost, nothing twice
	$(BIN)/python tests/spark/kill_driver.py --kills 10
	$(BIN)/python tests/kill/run_kills.py --kills 30
	$(BIN)/python tests/kill/run_kills.py --kills 20 --what overload

# the theme prints an advertisement of its successor otherwise
manual: $(STAMP)  ## the manual, as pages in site/
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --strict --quiet
	@echo "site/index.html"

newcomer: $(STAMP)  ## the tutorial as a new user has it: a wheel, everything fetched, a real topic
	SLACKWATER_CLEAN=1 $(BIN)/python -m pytest -q tests/spark/test_new_user.py

lock: $(STAMP)  ## pin every dependency with its hash
	$(BIN)/python -m pip install --quiet uv
	$(BIN)/uv pip compile --quiet --generate-hashes --no-header --no-emit-index-url --universal \
	  --python-version 3.11 --all-extras --group dev pyproject.toml -o requirements.lock

clean:  ## remove what was built
	rm -rf $(VENV) artifacts demo-output site .pytest_cache .mypy_cache .ruff_cache .hypothesis
