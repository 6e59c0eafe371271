.DEFAULT_GOAL := help
PY := .venv/bin/python

.PHONY: help setup check test kafka chaos delivery
help: ## what there is
	@awk -F':.*## ' '/^[a-z-]+:.*## / {printf "%-10s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

setup: ## a virtual environment with everything
	python3 -m venv .venv && .venv/bin/pip install -q -e '.[local,dev]'

check: ## format, lint, types
	.venv/bin/ruff format --check . && .venv/bin/ruff check . && .venv/bin/mypy

test: ## all tests, real Kafka included
	$(PY) -m pytest -n 2 --dist loadfile

kafka: ## only the tests against real Apache Kafka
	$(PY) -m pytest -m kafka

chaos: ## ten seeds of 20,000 events with kills and restarts, then two on real Kafka; about an hour
	$(PY) -m tests.chaos.harness --seeds 10
	$(PY) -m tests.chaos.harness --first 11 --seeds 2 --kafka

delivery: ## what the delivery rule costs beside Faust's own take()
	$(PY) -m bench.delivery
