.DEFAULT_GOAL := help
PY := .venv/bin/python

.PHONY: help setup check test kafka
help: ## what there is
	@awk -F':.*## ' '/^[a-z-]+:.*## / {printf "%-10s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

setup: ## a virtual environment with everything
	python3 -m venv .venv && .venv/bin/pip install -q -e '.[local,dev]'

check: ## format, lint, types
	.venv/bin/ruff format --check . && .venv/bin/ruff check . && .venv/bin/mypy

test: ## all tests, real Kafka included
	$(PY) -m pytest

kafka: ## only the tests against real Apache Kafka
	$(PY) -m pytest -m kafka
