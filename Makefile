.DEFAULT_GOAL := help
PY := .venv/bin/python

.PHONY: help setup check test kafka chaos local-model delivery fuzz lock audit sbom
help: ## what there is
	@awk -F':.*## ' '/^[a-z-]+:.*## / {printf "%-12s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

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

local-model: ## fetch a small model (1.1 GB), serve it on loopback, and measure what it is worth beside the rules
	$(PY) -m bench.local_model qwen2.5-coder-1.5b

delivery: ## what the delivery rule costs beside Faust's own take()
	$(PY) -m bench.delivery

FUZZ_TRIES ?= 3600
FUZZED = $(addprefix tests/security/test_,hostile_requests.py hostile_events.py hostile_topics.py openapi.py)
fuzz: ## two tenants, one of them hostile: FUZZ_TRIES tries of each of 14 properties, new ones each time (3600: above 50,000)
	FUZZ_TRIES=$(FUZZ_TRIES) $(PY) -m pytest -q --timeout=0 $(FUZZED)

lock: ## requirements.lock: what is tested, with hashes, for Python 3.11 on Linux
	.venv/bin/pip install -q 'uv>=0.9'
	.venv/bin/uv pip compile -q --generate-hashes --python-version 3.11 --no-emit-index-url --custom-compile-command 'make lock' --extra local --extra dev -o requirements.lock pyproject.toml

audit: ## known weaknesses of what requirements.lock names; status 2 and a sentence where the database cannot be asked
	.ci/audit

sbom: ## sbom.json: the software bill of materials (CycloneDX) of requirements.lock
	.venv/bin/pip install -q 'cyclonedx-bom>=7,<8'
	.venv/bin/cyclonedx-py requirements requirements.lock --pyproject pyproject.toml --of JSON -o sbom.json
