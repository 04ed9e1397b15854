# `make run` needs Python 3.11 or newer and git. `make test` also needs Go and, as root on Debian, installs
# Redis, PostgreSQL, nginx, Chromium, curl and jq.
# Prefer the system's Python: Debian compiles it with profiles, so these tests take a fifth less processor time than
# with one from pyenv.
PYTHON ?= $(firstword $(foreach one,/usr/bin/python3 python3,$(shell $(one) -c \
	'import ensurepip, sys, venv; print("$(one)" if sys.version_info >= (3, 11) else "")' 2>/dev/null)) python3)
PROFILE ?= 1.37
PORT ?= 8000
# Processes of a whole test run. Two begin with control planes, two compute. With a fifth one, control planes answer late
# on two cores.
LANES ?= 4
# Tests that `make coverage` runs: the tier `unit` by default.
COVERED ?= not services and not production and not controlplane and not browser
# A test run starts hundreds of processes, which share their compiled modules whatever the environment says.
unexport PYTHONDONTWRITEBYTECODE
VENV := .venv
BIN := $(VENV)/bin

.PHONY: run test tests check lint types fmt venv controlplane packages testcluster screenshots exhaustive bench measures interleavings agreement attack coverage lock manifests docs clientschema

# Use the full environment if it exists. Otherwise install only what gangboard runs on, without the test tools.
run: $(or $(wildcard $(VENV)/.made),$(VENV)/.runs)
	@$(BIN)/python manage.py up --port $(PORT)

test: venv packages controlplane lint
	@$(MAKE) --no-print-directory -j2 types tests

tests: venv
	$(BIN)/python -m pytest -n $(LANES) --dist loadscope

check: lint types

lint: venv
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/lint-imports

types: venv
	$(BIN)/mypy

fmt: venv
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

venv: $(VENV)/.made

# A linked environment belongs to another checkout, which renews it.
ifeq ($(shell test -L $(VENV) && echo linked),)
$(VENV)/.made: requirements/dev.txt
$(VENV)/.runs: requirements/runtime.txt
endif
$(VENV)/.made $(VENV)/.runs:
	@echo "Making $(VENV) with the locked dependencies (up to half a minute) ..."
	@$(PYTHON) -c 'import sys; sys.exit("gangboard needs Python 3.11 or newer") if sys.version_info < (3, 11) else None'
	@$(PYTHON) -m venv $(VENV)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-compile --require-hashes -r $<
	@$(BIN)/python -m compileall -qq -j 0 -x '/(kubernetes/client/(models|api)|pip|setuptools|pkg_resources|tests?)/' $(VENV)/lib || true # pip compiles on one core, and unused modules too; some files are for other Pythons
	@touch $@

controlplane: venv
	@$(BIN)/python -m tests.controlplane.build

packages:
	@sh tests/packages.sh

testcluster: controlplane
	@$(BIN)/python -m tests.controlplane.run --profile $(PROFILE)

# All that `make test` has in a smaller size: random data, pairs of database and broker, places where a worker is killed.
# Prints the seeds.
exhaustive: venv controlplane
	@TESTS=exhaustive $(BIN)/python -m pytest -n $(LANES) -m hypothesis --hypothesis-seed=$$(date +%s)
	@TESTS=exhaustive $(BIN)/python -m pytest tests/interleavings tests/agreement tests/live/test_backends.py \
	  tests/controlplane/test_restored.py tests/controlplane/test_check_minors.py tests/api/test_generated_requests.py \
	  tests/simulator/test_copied_commands.py tests/diagnosis/test_hostile_text.py \
	  tests/polling/checks/test_hostile_manifests.py tests/controlplane/forecasts \
	  tests/actions tests/acting tests/tasks -q -s
	@$(MAKE) interleavings agreement

# 200 random runs of actions, operators, restarts, faults and kills, with a new seed.
interleavings: venv
	@TESTS=exhaustive GANGBOARD_SEED=fresh $(BIN)/python -m pytest tests/interleavings -q -s

# 300 random small clusters with a gang each, judged by the real scheduler and by our arithmetic.
agreement: venv controlplane
	@$(BIN)/python -m tests.agreement --cases 300

# Processor time of reading, verdicts and pages, and the time until a change reaches open pages. About three minutes on
# a quiet machine.
bench: venv controlplane
	@$(BIN)/python manage.py benchmark_reading
	@$(BIN)/python manage.py benchmark_placement
	@$(BIN)/python manage.py benchmark_plan
	@$(BIN)/python manage.py benchmark_pages
	@TESTS=exhaustive $(BIN)/python -m pytest tests/live/test_latency.py tests/live/test_hundred_pages.py -q -s

# Numbers that grow unless people watch them: files and lines, queries of a click, calls of a verdict. About ten seconds.
measures: venv
	@$(BIN)/python manage.py print_measures

# Attacks on a gangboard that is started for them. About a minute. Prints a line of JSON for each.
attack: venv
	@$(BIN)/python -m tests.attack

# Lines and branches of gangboard/ that no test reached. Tests are slower with it, and those that measure time may fail.
coverage: venv
	@$(BIN)/coverage erase
	@$(BIN)/coverage run -m pytest -n $(LANES) --dist loadscope -m "$(COVERED)"; status=$$?; \
	$(BIN)/coverage combine --quiet && $(BIN)/coverage report --skip-covered && exit $$status

# The roles and policies of the chart, and its plain manifests with the values of `deploy/manifests/values.yaml`.
manifests: venv
	@$(BIN)/python -m tests.controlplane.build helm
	@$(BIN)/python manage.py print_rbac --chart deploy/chart/files
	@cp deploy/monitoring/rules.yaml deploy/chart/files/rules.yaml
	@$(BIN)/python -m tests.chart.manifests > deploy/manifests/gangboard.yaml
	@$(BIN)/python manage.py print_rbac --hold > deploy/manifests/hold.yaml

# All files that list kinds or reasons: tables of the docs, roles, policies and manifests.
docs: manifests
	@$(BIN)/python manage.py print_kinds --into README.md docs/kinds.md
	@$(BIN)/python manage.py print_reasons --into docs/reasons.md

# The part of the OpenAPI document that the client uses, as Python types.
clientschema: venv
	@$(BIN)/python -m tools.client_schema
	@$(BIN)/ruff format --quiet client/src/gangboard_client/schema.py

screenshots: venv packages
	@$(BIN)/python -m tests.screenshots

# uv resolves the versions. It is not a dependency, so it has an environment of its own.
UV := $(VENV)/lock/bin/uv

$(UV):
	@$(PYTHON) -m venv $(VENV)/lock
	@$(VENV)/lock/bin/python -m pip install --quiet --disable-pip-version-check 'uv==0.13.*'

lock: $(UV)
	for name in runtime dev; do \
	  $(UV) pip compile --python-version 3.11 --generate-hashes --no-emit-index-url --no-emit-find-links \
	    --no-annotate --custom-compile-command "make lock" --quiet requirements/$$name.in -o requirements/$$name.txt; \
	done
