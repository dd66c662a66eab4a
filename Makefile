# Two commands do everything on a fresh machine: `make learn` and `make test`.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
SOURCES := src tests bench docs examples

.DEFAULT_GOAL := help
.PHONY: help learn test fuzz test-haswell test-machines lint types layers bench format clean check-statistics

help: ## what can be made
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  make %-12s %s\n", $$1, $$2}'

$(VENV)/.python:
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip
	@touch $@

$(VENV)/.app: $(VENV)/.python pyproject.toml
	$(BIN)/python -m pip install --quiet -e ".[app]"
	@touch $@

$(VENV)/.test: $(VENV)/.python pyproject.toml
	$(BIN)/python -m pip install --quiet -e ".[test]"
	@touch $@

$(VENV)/.bench: $(VENV)/.python pyproject.toml
	$(BIN)/python -m pip install --quiet -e ".[bench,app]"
	@touch $@

learn: $(VENV)/.app ## fit the linear family on a real data set, print a table, write a chart
	$(BIN)/gramian learn

test: lint types layers ## lint, types, import layers, doctests and tests
	$(BIN)/python -m pytest -n 2 -q

test-haswell: $(VENV)/.test ## tests of solvers and contracts with the BLAS kernels of most desktops
	$(BIN)/python tests/machines.py haswell -- tests/test_solvers.py tests/test_strength.py tests/checks/test_solvers.py \
		tests/checks/test_losses.py tests/checks/test_estimators.py tests/checks/test_scikit_learn_contract.py

test-machines: $(VENV)/.test ## all tests with other BLAS kernels, CPUs, threads, oldest and newest dependencies (hours)
	$(BIN)/python tests/machines.py

lint: $(VENV)/.test ## ruff: style and format
	$(BIN)/ruff check $(SOURCES)
	$(BIN)/ruff format --check $(SOURCES)

types: $(VENV)/.test ## mypy, strict
	$(BIN)/mypy

layers: $(VENV)/.test ## import-linter: the left-to-right contract
	$(BIN)/lint-imports

format: $(VENV)/.test ## rewrite the sources in the house style
	$(BIN)/ruff check --fix $(SOURCES)
	$(BIN)/ruff format $(SOURCES)

check-statistics: $(VENV)/.test ## simulate coverage and levels of statistical statements (long)
	PYTHONPATH=tests $(BIN)/python -m simulations

fuzz: $(VENV)/.test ## random problems against oracles (minutes); CASES= sets their number, SEED= the first
	PYTHONPATH=tests $(BIN)/python -m fuzz.run $(or $(CASES),2000) $(or $(SEED),0)

bench: $(VENV)/.bench ## every task against its peers (long)
	$(BIN)/python -m bench

clean: ## remove the virtual environment and every cache
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache .hypothesis learn
