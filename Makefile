# Thin: every target is one call of the builder. `make` alone says what there is.
PYTHON ?= python3
VENV   ?= .venv
OUT    ?= dist
UPSTREAM ?=
ARGS   ?=

BIN     := $(VENV)/bin
BUILDER := $(BIN)/python -m builder
STAMP   := $(VENV)/.installed

.PHONY: help setup dist plan doctor test check bench clean
help:
	@echo 'make dist [UPSTREAM=sha|tag|branch|pin|pypi:VERSION] [OUT=dist]   build the distribution'
	@echo 'make plan [UPSTREAM=...]                                          show what it would change'
	@echo 'make test                                                         run the tests'
	@echo 'make check                                                        lint, types and layers'
	@echo 'make bench                                                        measure, as ratios to a floor'
	@echo 'make doctor                                                       check tools, manifest, upstreams'
	@echo 'more verbs and options:  $(BIN)/python -m builder --help'

# The virtual environment is made anew when the pinned dependencies change.
$(STAMP): pyproject.toml
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 10) and "Python 3.10 or newer is needed")'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[dev]'
	touch $(STAMP)

setup: $(STAMP)

dist: $(STAMP)
	$(BUILDER) dist $(UPSTREAM) --out '$(OUT)' $(ARGS)

plan: $(STAMP)
	@$(BUILDER) plan $(UPSTREAM) --out '$(OUT)' $(ARGS) || [ $$? -eq 3 ]

doctor: $(STAMP)
	$(BUILDER) doctor $(UPSTREAM) $(ARGS)

check: $(STAMP)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

test: $(STAMP)
	$(BIN)/python -m pytest $(ARGS)

bench: $(STAMP)
	$(BIN)/python benchmarks/run.py $(ARGS)

clean:
	rm -rf $(VENV) .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache
