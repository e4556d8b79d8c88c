# Needs python3 (3.11 or newer, with its venv module) and make. All else goes into .venv.
PYTHON ?= python3
VENV := .venv
RUN := $(VENV)/bin/python

TEST_FLAGS ?= -n 3 --dist worksteal -m "not slow and not faults"
DEMO_FLAGS ?=
BENCH_FLAGS ?=
OPENAPI ?= docs/reference/openapi.json

.DEFAULT_GOAL := help
.PHONY: help demo test lint bench bench-api bench-dashboard docs-api shots clean

help: ## Show these commands
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-15s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

demo: $(VENV)/ready ## Start the demo site: its own Valkey server, a worker, jobs of every kind
	@$(RUN) manage.py demo $(DEMO_FLAGS)

test: $(VENV)/ready ## Run the fast tests; servers that are not there are skipped
	@$(RUN) -m pytest $(TEST_FLAGS)

lint: $(VENV)/ready ## Check style, types and migrations
	@$(RUN) -m ruff check
	@$(RUN) -m ruff format --check
	@$(RUN) -m mypy
	@$(RUN) manage.py makemigrations --check --dry-run

bench: $(VENV)/ready ## Measure stores and workers on servers of their own
	@$(RUN) -m tests.bench $(BENCH_FLAGS)

bench-api: $(VENV)/ready ## Measure the HTTP API beside an empty view
	@$(RUN) -m tests.bench --api $(BENCH_FLAGS)

bench-dashboard: $(VENV)/ready ## Measure the pages of the dashboard with a million jobs
	@$(RUN) -m tests.bench.dashboard $(BENCH_FLAGS)

docs-api: $(VENV)/ready ## Write the OpenAPI description of the HTTP API
	@$(RUN) manage.py spectacular --format openapi-json --validate --fail-on-warn --file $(OPENAPI)

shots: $(VENV)/ready ## Take the pictures of the dashboard for docs/images; needs chromium
	@$(RUN) -m tests.dashboard.shots

clean: ## Remove everything made here: .venv, caches, builds, the demo's database
	rm -rf $(VENV) .demo .*_cache .hypothesis build dist
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

$(VENV)/ready: pyproject.toml
	@echo "Building $(VENV) …"
	@$(PYTHON) -m venv $(VENV)
	@$(RUN) -m pip install -qq --disable-pip-version-check --editable '.[dev]'
	@touch $@
