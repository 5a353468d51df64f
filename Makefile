# The ways in. `make` lists them; each brings .venv up to date first and needs only Python 3.10 or newer.
PYTHON ?= python3
# One more than the cores of the machine that CI has: about half of a test's time is waiting for a process or a clock.
WORKERS ?= 3
ARGS ?=
BIN := .venv/bin
# On what servers of the system tests keep their stores: file, zeo or postgresql.
ENGINE ?= file
PYTEST := $(BIN)/python -m pytest -rsfE --engine $(ENGINE)
# Each test is in one of two lists: those that run before every arrival (.ci/run), and those that say that they are of the
# night. Whoever names tests means both.
LIST ?= $(if $(ARGS),all,core)
core := not nightly and not soak
nightly := nightly and not soak
all := not soak
CHOSEN := -m "$($(LIST))"
PORTABLE := tests/unit tests/api tests/engine tests/race
export PYTHONPATH := $(CURDIR)
# The system tests start hundreds of processes: each reads what was compiled once instead of compiling it (0.5 s) again.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.PHONY: help run test system browser fleet lint nightly decisions coverage crash attack soak cluster bench shots packages \
  clean run-venv test-venv

help: ## list these commands
	@awk -F ':.*## ' '/^[a-z]+:.*## / {printf "  make %-9s %s\n", $$1, $$2}' Makefile

run: run-venv ## start the service on development.ini (data under var/); ARGS="--port 8080" and others are passed on
	@exec $(BIN)/python -m opsapp.cli serve development.ini $(ARGS)

test: test-venv ## the portable tests: no root, no network
	@$(PYTEST) -n $(WORKERS) $(PORTABLE) $(CHOSEN) $(ARGS)

system: test-venv ## real server and agent processes over real sockets; no root, no network
	@$(PYTEST) -n $(WORKERS) tests/system $(CHOSEN) $(ARGS)

# By halves, of which each takes from the other's end what is left: so most modules start their services once.
browser: test-venv ## pages in headless Chromium
	@$(PYTEST) -n 2 --dist worksteal tests/browser $(CHOSEN) $(ARGS)

fleet: test-venv ## healing on real systemd hosts in network namespaces (root; the first time builds a root file system)
	@$(PYTEST) -n 2 --dist loadfile --no-loadscope-reorder tests/fleet $(CHOSEN) $(ARGS)

lint: test-venv ## style, format, import rules, types, and the house rules of tests/unit/test_house.py
	@$(BIN)/ruff check -q .
	@$(BIN)/ruff format -q --check .
	@$(BIN)/lint-imports --no-cache
	@$(BIN)/mypy
	@$(PYTEST) -n 0 tests/unit/test_house.py

nightly: ## everything that .ci/run leaves out: the other list of each suite, coverage, every engine, full counts (root)
	@.ci/run nightly

decisions: test-venv ## holds that the portable tests cover all decisions, wire, tree, series and lib to 100 %
	@$(PYTEST) -n $(WORKERS) $(PORTABLE) -m "$(all)" --cov --cov-config=tests/coverage-logic.ini --measure decisions $(ARGS)

coverage: test-venv ## branch coverage of portable and system tests, processes included; holds 95 %, prints what is not reached
	@$(PYTEST) -n $(WORKERS) $(PORTABLE) tests/system -m "$(all)" \
	  --cov --cov-report=term $(if $(ARGS),--cov-fail-under=0) $(ARGS)

crash: test-venv ## kill -9 at 10 to 20 seeded points of whatever has an effect on the world
	@$(PYTEST) -n $(WORKERS) tests/engine tests/race tests/system -m "crash and not soak" $(ARGS)

attack: test-venv ## what a hostile client or person tries, on a running server, and the HTTP parser against others
	@$(PYTEST) -n $(WORKERS) tests/unit tests/api tests/engine tests/system -m "attack and not soak" $(ARGS)

soak: test-venv ## the crash suites with their full counts; takes hours
	@$(PYTEST) tests -m soak --timeout 14400 $(ARGS)

cluster: test-venv ## kill, stop, cut off and freeze nodes and stores in network namespaces, and count what was lost (root)
	@$(BIN)/python -m tests.cluster $(ARGS)

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
