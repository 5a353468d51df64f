# The ways in. `make` lists them; each brings .venv up to date first and needs only Python 3.10 or newer.
PYTHON ?= python3
# One more than the cores of the machine that CI has: about half of a test's time is waiting for a process or a clock.
WORKERS ?= 3
ARGS ?=
BIN := .venv/bin
# On what servers of the system tests keep their stores: file, zeo or postgresql.
ENGINE ?= file
PYTEST := $(BIN)/python -m pytest -rsfE --engine $(ENGINE)
export PYTHONPATH := $(CURDIR)
# The system tests start hundreds of processes: each reads what was compiled once instead of compiling it (0.5 s) again.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.PHONY: help run test crash coverage lint bench soak system postgresql zeo engines cluster attack browser fleet packages clean run-venv test-venv

help: ## list these commands
	@awk -F ':.*## ' '/^[a-z]+:.*## / {printf "  make %-9s %s\n", $$1, $$2}' Makefile

run: run-venv ## start the service on development.ini (data under var/); ARGS="--port 8080" and others are passed on
	@exec $(BIN)/python -m opsapp.cli serve development.ini $(ARGS)

test: test-venv ## the portable test suite: no root, no network; all decisions, wire, tree and series covered to 100 %
	@$(PYTEST) -n $(WORKERS) tests/unit tests/api tests/engine tests/race \
	  -m "not soak and not crash" $(or $(ARGS),--cov --cov-config=tests/coverage-logic.ini --measure decisions)

crash: test-venv ## kill -9 at 10 to 20 seeded points of whatever has an effect on the world
	@$(PYTEST) -n $(WORKERS) tests/engine tests/race tests/system -m "crash and not soak$(if $(ARGS),, and not alone)" $(ARGS)
	@$(if $(ARGS),,$(PYTEST) -n 0 tests/system -m "crash and alone and not soak")

coverage: test-venv ## the portable test suite with branch coverage, processes included; holds 95 % and prints what is not reached
	@$(PYTEST) -n $(WORKERS) tests/unit tests/api tests/engine tests/race tests/system -m "not soak" \
	  --timeout 360 --cov --cov-report=term $(if $(ARGS),--cov-fail-under=0) $(ARGS)

lint: test-venv ## style, format, import rules, types, and the house rules of tests/unit/test_house.py
	@$(BIN)/ruff check -q .
	@$(BIN)/ruff format -q --check .
	@$(BIN)/lint-imports --no-cache
	@$(BIN)/mypy
	@$(PYTEST) -n 0 tests/unit/test_house.py

system: test-venv ## real server and agent processes over real sockets; no root, no network
	@$(PYTEST) -n $(WORKERS) tests/system -m "not soak and not crash and not alone" $(ARGS)
	@$(if $(ARGS),,$(PYTEST) -n 0 tests/system -m "alone and not soak and not crash")

# What depends on the engine: kills, runs, leases, the ledger of healing, series. The rest of tests/system runs on it by `make engines`.
ON_ENGINES := $(addprefix tests/system/test_,automations_crash.py automations_load.py healing_alone.py \
  healing_server.py agents_crash.py series_crash.py stream_ends.py)

postgresql: test-venv ## what depends on the engine, with its stores in PostgreSQL: kills, runs, the ledger of healing, series
	@$(PYTEST) -n $(WORKERS) --engine postgresql $(ON_ENGINES) -m "not soak and not alone" $(ARGS)
	@$(if $(ARGS),,$(PYTEST) -n 0 --engine postgresql tests/system/test_crash.py -m "not soak")

zeo: test-venv ## kills of servers, runs and agents on a ZEO server; what else needs one has it in tests/system anyway
	@$(PYTEST) -n $(WORKERS) --engine zeo tests/system/test_automations_crash.py tests/system/test_agents_crash.py \
	  tests/system/test_series_crash.py -m "not soak and not alone" $(ARGS)
	@$(if $(ARGS),,$(PYTEST) -n 0 --engine zeo tests/system/test_crash.py -m "not soak")

engines: test-venv ## make system and make crash on ZEO and on PostgreSQL; takes up to an hour
	@for engine in zeo postgresql; do $(MAKE) system ENGINE=$$engine && $(MAKE) crash ENGINE=$$engine || exit 1; done

cluster: test-venv ## kill, stop, cut off and freeze nodes and stores in network namespaces, and count what was lost (root)
	@$(BIN)/python -m tests.cluster $(ARGS)

attack: test-venv ## what a hostile client or person tries, on a running server, and the HTTP parser against others
	@$(PYTEST) -n $(WORKERS) tests/unit tests/api tests/engine tests/system -m "attack and not soak" $(ARGS)

browser: test-venv ## every page in headless Chromium
	@$(PYTEST) -n 2 tests/browser -m "not soak" $(ARGS)

fleet: test-venv ## healing on real systemd hosts in network namespaces (root; the first time builds a root file system)
	@$(PYTEST) -n 2 --dist loadfile --no-loadscope-reorder tests/fleet -m "not soak" $(ARGS)

soak: test-venv ## the crash suites with their full counts; takes hours
	@$(PYTEST) tests -m soak --timeout 14400 $(ARGS)

shots: test-venv ## a picture of every page: make shots ARGS=DIRECTORY
	@$(BIN)/python -m tests.browser.shots $(ARGS)

bench: test-venv ## measure and print a table; never a test
	@$(BIN)/python -m tests.bench $(ARGS)

packages: test-venv ## a wheel, Debian packages of service and agent, and the list of their parts, into dist/
	@$(BIN)/python -m distribution $(ARGS)

clean: ## remove what the build and the tests leave; keeps var/ and a .venv that is a link
	@if [ -L .venv ]; then echo "keeping .venv, a link"; else rm -rf .venv; fi
	@rm -rf build dist *.egg-info .coverage .coverage.* .hypothesis .mypy_cache .ruff_cache .pytest_cache .import_linter_cache
	@find . -name __pycache__ -type d -not -path './.venv/*' -prune -exec rm -rf {} +

run-venv test-venv:
	@$(PYTHON) requirements/venv.py $(@:-venv=)
