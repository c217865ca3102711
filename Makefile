# The two commands are `make demo` and `make test`; everything else is made on the way.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
WORKERS ?= 2

.PHONY: demo demo-stream test test-fast spark services services-stop lint format check docs benchmark benchmark-kills benchmark-masks benchmark-peers lock clean benchmark-stream-json benchmark-clusters benchmark-events benchmark-sessions benchmark-stream-kills

demo: $(VENV)/.core
	@$(BIN)/python examples/demo.py

demo-stream: $(VENV)/.core
	@$(BIN)/python examples/demo_stream.py

# The order of the tests and what they draw, so that a failure can be made again; another: make test SEED=7
SEED ?= 1
test: $(VENV)/.dev
	$(BIN)/python -m pytest -n $(WORKERS) -p randomly --randomly-seed=$(SEED)

test-fast: $(VENV)/.dev
	$(BIN)/python -m pytest -n $(WORKERS) -m "not slow"

# Spark for the tests: 800 MB that most changes do not touch. Without it its tests are skipped.
spark: $(VENV)/.spark

# Databases for the tests, which start them themselves where they do not run. All but mysql, or: make services NAMES="mariadb mysql"
services:
	$(PYTHON) -m services start $(NAMES)

services-stop:
	$(PYTHON) -m services stop $(NAMES)

lint: $(VENV)/.dev
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports

format: $(VENV)/.dev
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

check: lint test

# The pages of docs/reference, from the code and from examples that are run.
docs: $(VENV)/.dev
	PYTHONPATH=. $(BIN)/python docs/make_reference.py

# In an environment as users have it: libraries of the tests, once there, are imported by others and slow every start.
benchmark:
	@$(MAKE) --no-print-directory VENV=.venv-benchmark .venv-benchmark/.core
	.venv-benchmark/bin/python benchmarks/road.py

# A hundred times SIGKILL at random moments for each way of working in a database; on a machine that is shared half an hour.
benchmark-kills: $(VENV)/.dev
	$(BIN)/python benchmarks/kills.py

benchmark-clusters: $(VENV)/.dev
	PYTHONPATH=. $(BIN)/python benchmarks/clusters.py

# z-anonymity: speed, and the tables of docs/z_anonymity_results.md; SHARE=0.2 for a fifth of each stream.
SHARE ?= 1
benchmark-events: $(VENV)/.dev
	$(BIN)/python benchmarks/events.py --records $(SHARE)

benchmark-masks: $(VENV)/.dev
	$(BIN)/python benchmarks/masks.py

benchmark-sessions: $(VENV)/.dev
	$(BIN)/python benchmarks/sessions.py

benchmark-stream-kills: $(VENV)/.dev
	$(BIN)/python benchmarks/stream_kills.py

benchmark-stream-json: $(VENV)/.dev
	$(BIN)/python benchmarks/stream_json.py

# The folder of adult.csv and its hierarchies. Each package gets an environment of its own in benchmarks/environments.
ADULT ?= ../shared/data/adult
benchmark-peers:
	@$(MAKE) --no-print-directory VENV=.venv-benchmark .venv-benchmark/.core
	.venv-benchmark/bin/python benchmarks/peers.py --adult $(ADULT)

# Bytecode is compiled once at the install, so that the first command is as quick as the second.
INSTALL = $(BIN)/uv pip install --quiet --python $(BIN)/python

$(VENV)/.uv: requirements/bootstrap.lock
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "sfumato needs Python 3.11 or later; try: make PYTHON=python3.11")'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements/bootstrap.lock
	@touch $@

$(VENV)/.core: $(VENV)/.uv requirements/core.lock pyproject.toml
	$(INSTALL) --compile-bytecode --require-hashes -r requirements/core.lock
	$(INSTALL) --no-deps --no-build-isolation --editable .
	@touch $@

$(VENV)/.dev: $(VENV)/.core requirements/dev.lock
	$(INSTALL) --compile-bytecode --require-hashes --no-deps -r requirements/dev.lock
	@touch $@

$(VENV)/.spark: $(VENV)/.dev requirements/spark.lock
	$(INSTALL) --compile-bytecode --require-hashes --no-deps -r requirements/spark.lock
	@touch $@

# Newest versions that fit pyproject.toml, with hashes and without naming a package host.
COMPILE = $(BIN)/uv pip compile --quiet --upgrade --universal --generate-hashes --no-header --no-annotate --no-emit-index-url --python-version 3.11
lock: $(VENV)/.uv
	$(COMPILE) requirements/bootstrap.in --output-file requirements/bootstrap.lock
	$(COMPILE) pyproject.toml requirements/build.in --output-file requirements/core.lock
	$(COMPILE) --override requirements/overrides.txt --constraint requirements/core.lock --extra test --extra lint \
		pyproject.toml requirements/build.in --output-file requirements/dev.lock
	$(COMPILE) --constraint requirements/dev.lock requirements/spark.in --output-file requirements/spark.lock

clean:
	rm -rf $(VENV) .venv-benchmark demo benchmarks/data benchmarks/environments
