# Everything a person or CI does here, by one word each. `make` alone lists the words.
SHELL := /bin/bash
.DEFAULT_GOAL := help

PYTHON ?= $(shell command -v python3.11 || command -v python3 || echo python3.11)
# Said before set-up's own code, which an older Python could not even read.
RIGHT_PYTHON := import sys; v = sys.version_info[:2]; sys.exit(None if v == (3, 11) else \
	"setup: Python 3.11 is needed, this is %d.%d: make setup PYTHON=/path/to/python3.11" % v)
# Machines whose package index answers `torch` with the CUDA build: the address of PyTorch's CPU builds.
TORCH_INDEX ?=
# Further arguments for every `pip install` of the set-up.
PIP_ARGS ?=
# `make run`: how many decisions (empty: all sessions), EXIT=1 stops at the end, where state is kept.
DECISIONS ?=
EXIT ?=
STATE ?=
# `make crash` and `make fight`: how many crashes, how long, and which ones again.
N ?=
MINUTES ?=
SEED ?=

# `make test`: test files at once; each worker has its own database server.
WORKERS ?= 4
# `make near`: the commit to compare with.
SINCE ?=
# `make later`: days ahead, and further arguments of pytest.
DAYS ?= 1826
ARGS ?=
# Tests that need no process, no server and no engine; of packages that do no I/O.
PURE := tests/property tests/unit/risk tests/unit/audit/records tests/unit/audit/tlog \
	tests/unit/inference/codec tests/unit/inference/speculation tests/unit/inference/forecast \
	tests/unit/fix/dialects tests/unit/fix/wire tests/unit/fix/orders tests/test_layout.py

BIN := .venv/bin

.PHONY: help setup check test collected later quick near hooks unit run golden bench bench-ledger bench-fsck bench-fix bench-fairness bench-risk bench-conduct bench-direct bench-load profile bench-allocation bench-coordination bench-seeds exactness crash fight forge kill-throws crash-gateways engine-faults policy-change text-model test-capped fix-acceptance mutate research research-tests playback ledger-size screenshots kinds verifier docs lock clean

help: ## list these words
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

setup: ## build .venv from the lock (first time: minutes; then: nothing to do)
	@$(PYTHON) -c '$(RIGHT_PYTHON)'
	@$(PYTHON) scripts/setup.py --torch-index="$(TORCH_INDEX)" --pip-args="$(PIP_ARGS)"

check: setup ## format, lint, types, import contracts; prints what is long
	@$(BIN)/ruff format --check --quiet .
	@$(BIN)/ruff check --quiet .
	@$(BIN)/mypy
	@$(BIN)/lint-imports --no-logo
	@$(BIN)/python scripts/sizes.py

# Our modules are compiled once, not again by each of the thousand processes that tests start.
test collected later near test-capped: export PYTHONDONTWRITEBYTECODE =
test: setup ## check, then every test, WORKERS=4 at once: most of them wait for children
	@$(MAKE) --no-print-directory --jobs=2 --output-sync=target check collected
	@$(BIN)/pytest --numprocesses=$(WORKERS) --max-worker-restart=0 \
		--dist=loadfile --no-loadscope-reorder

# Beside the types, which keep one core busy; else each worker compiles every test file anew.
collected: setup
	@said=$$($(BIN)/pytest --quiet --quiet --collect-only 2>&1) || { tail -n 50 <<<"$$said"; exit 1; }

later: setup ## every test with the clock DAYS ahead (DAYS=1826): no shipped date and no test ends by itself
	@$(BIN)/python -m tests.doubles.set_clock $(DAYS) $(BIN)/pytest --numprocesses=$(WORKERS) \
		--max-worker-restart=0 --dist=loadfile --no-loadscope-reorder $(ARGS)

quick: check ## check, then the tests of what is pure: under a minute
	@$(BIN)/pytest --quiet --numprocesses=$(WORKERS) --max-worker-restart=0 \
		--dist=loadfile $(PURE)

near: setup ## the tests of modules that import what changed (SINCE=main; else the open work, or the last commit)
	@$(BIN)/python -m scripts.near --workers=$(WORKERS) $(if $(SINCE),--since "$(SINCE)")

hooks: ## before each commit: format, lint, import contracts, generated documents
	@git config core.hooksPath scripts/hooks && echo "scripts/hooks/pre-commit runs before each commit"

unit: setup ## only the tests that need no server and no engine
	@$(BIN)/pytest tests/unit tests/property tests/golden tests/test_layout.py

run: setup ## play the 2018 sessions through the whole walk (DECISIONS=n EXIT=1 STATE=folder)
	@$(BIN)/countersign run $(if $(STATE),--state "$(STATE)") \
		$(if $(DECISIONS),--decisions $(DECISIONS)) $(if $(EXIT),--exit) \
		$(if $(NEW_FIX_SESSION),--new-fix-session "$(NEW_FIX_SESSION)")

golden: setup ## rewrite the golden files; the diff is the review
	@$(BIN)/pytest -q --rewrite-golden tests/unit tests/golden
	@git status --short tests/golden

bench: setup ## measure speculation against plain decoding, and the walk (QUICK=1: shows that it works)
	@$(BIN)/python scripts/bench.py $(if $(QUICK),--quick)

bench-ledger: setup ## measure the ledger's appends against COPY, bare commits and fdatasync
	@$(BIN)/python scripts/bench_ledger.py $(if $(QUICK),--quick)

bench-fsck: setup ## measure fsck on a ledger of 1,000,000 records (minutes)
	@$(BIN)/python scripts/bench_fsck.py

bench-fix: setup ## measure the way to the broker: decision to wire, kill of 500 orders, feed (QUICK=1: shows that it works)
	@$(BIN)/python -m scripts.bench_fix $(if $(QUICK),--quick)

bench-allocation: setup ## measure how often the test of allocation finds cherry-picking (QUICK=1: five windows)
	@$(BIN)/python -m scripts.bench_allocation $(if $(QUICK),--quick)

bench-coordination: setup ## measure how often the window test finds agents that act as one (QUICK=1: three hours)
	@$(BIN)/python -m scripts.bench_coordination $(if $(QUICK),--quick)

exactness: setup ## measure that drafts change no token and no law: 1,000 prompts, 500,000 tokens (QUICK=1: a few)
	@$(BIN)/python -m scripts.bench_exactness $(if $(QUICK),--quick)

bench-risk: setup ## measure the CPU time of a verdict and of a book's update (QUICK=1: a few)
	@$(BIN)/python -m scripts.bench_risk $(if $(QUICK),--quick)

bench-conduct: setup ## measure how well the patterns of conduct are found, and honest alarms (QUICK=1: three hours)
	@$(BIN)/python -m scripts.bench_conduct $(if $(QUICK),--quick)

bench-direct: setup ## measure the direct sampler: CPU time, capture, chi-square against the engine (QUICK=1: a few)
	@$(BIN)/python -m scripts.bench_direct $(if $(QUICK),--quick)

bench-load: setup ## measure a served desk under load beside a bare loop (QUICK=1: shows that it works; ARGS: --lifted, --memory, --rate, --seconds, --only, --cold, --busy, --page)
	@$(BIN)/python -m scripts.bench_load $(if $(QUICK),--quick) $(ARGS)

profile: setup ## show where the CPU time of a decision goes, step by step (ARGS: --decisions, --own)
	@$(BIN)/python -m scripts.profile_decision $(ARGS)

bench-fairness: setup ## measure how often the fairness test finds a planted bias, and a false one (QUICK=1: five windows)
	@$(BIN)/python -m scripts.bench_fairness $(if $(QUICK),--quick)

crash: setup ## crash the ledger N times (from 1,000: writes docs/measured/crash-ledger.md; SEED=); without N 200 times, then gateways
	@$(BIN)/python -m tests.crash.ledger_campaign --crashes $(or $(N),200) --teeth $(if $(N),10,2) \
		$(if $(SEED),--seed $(SEED)) $(if $(N),--write)
	@$(if $(N),,$(BIN)/pytest tests/walk/test_walk_crash.py tests/crash)

fight: setup ## let two sequencers fight for one log (MINUTES=10 SEED=)
	@$(BIN)/python -m tests.crash.ledger_fight --minutes $(or $(MINUTES),10) \
		$(if $(SEED),--seed $(SEED)) --write

forge: setup ## change one field of one record in N logs and sign them again: both verifiers must find it (N=2000 SEED=; from 2000: writes docs/measured/forged-logs.md)
	@$(BIN)/python -m tests.crash.forge_campaign --logs $(or $(N),2000) $(if $(SEED),--seed $(SEED)) \
		$(shell [ "$(or $(N),2000)" -ge 2000 ] && echo --write)

engine-faults: setup ## break the engine N times under whole gateways (N=200 SEED=; from 200: writes docs/measured/engine-faults.md)
	@$(BIN)/python -m tests.crash.engine_faults --faults $(or $(N),200) $(if $(SEED),--seed $(SEED)) \
		$(shell [ "$(or $(N),200)" -ge 200 ] && echo --write)

kill-throws: setup ## press the kill N times while the line is silent (N=100 SEED=; from 100: writes docs/measured/kill-throws.md)
	@$(BIN)/python -m tests.crash.kill_throws --throws $(or $(N),100) $(if $(SEED),--seed $(SEED)) \
		$(shell [ "$(or $(N),100)" -ge 100 ] && echo --write)

crash-gateways: setup ## break gateways in N rounds of SIGKILL, judged by the broker's capture (without N 470, 30 whole, 800 of all faults: writes docs/measured/crash-gateways.md; SEED=)
	@$(BIN)/python -m tests.crash.gateway_campaign --kills $(if $(N),--rounds $(N)) --write $(if $(SEED),--seed $(SEED))
	@$(if $(N),,$(BIN)/python -m tests.crash.gateway_campaign --kills --whole --write $(if $(SEED),--seed $(SEED)))
	@$(if $(N),,$(BIN)/python -m tests.crash.gateway_campaign --write $(if $(SEED),--seed $(SEED)))

policy-change: setup ## loosen a policy under 1,000 intents a minute, with kills, in N rounds (N=12 SEED=; from 12: writes docs/measured/policy-change.md)
	@$(BIN)/python -m tests.crash.policy_change --rounds $(or $(N),12) $(if $(SEED),--seed $(SEED)) \
		$(shell [ "$(or $(N),12)" -ge 12 ] && echo --write)

text-model: setup ## try a pinned text model: 200 decisions, resumable (MODEL=folder N=200 NAME= STATE=; from 200: writes docs/measured/text-model.md)
	@$(BIN)/python -m scripts.text_model "$(MODEL)" --decisions $(or $(N),200) --name "$(NAME)" \
		$(if $(STATE),--state "$(STATE)") $(shell [ "$(or $(N),200)" -ge 200 ] && echo --write)

test-capped: setup ## the engine's tests as on a processor without AVX-512 (minutes)
	@ATEN_CPU_CAPABILITY=avx2 ONEDNN_MAX_CPU_ISA=AVX2 MKL_ENABLE_INSTRUCTIONS=AVX2 \
		$(BIN)/pytest tests/integration/inference/engine tests/unit/inference/weights

fix-acceptance: setup ## play 59 dialogues of the session layer against the simulator (writes docs/measured/fix-acceptance.md)
	@$(BIN)/python -m tests.doubles.fix_acceptance --write

mutate: setup ## plant faults, known ones and N drawn by SEED; the tests must notice each (writes docs/measured/mutation.md)
	@$(BIN)/pytest tests/mutation
	@nice -n 10 $(BIN)/python -m scripts.mutate --write $(if $(SEED),--seed $(SEED)) $(if $(N),--sites $(N))

research: setup ## train the first pair again (hours; DATA_DIR=folder); the others: scripts/research
	@$(BIN)/python -m scripts.research.pair_v1 --minutes 50 --out state/training \
		$(if $(DATA_DIR),--data-dir "$(DATA_DIR)")

research-tests: setup ## the tests of how the shipped weights were made (minutes; not in make test)
	@$(BIN)/pytest --numprocesses=$(WORKERS) --dist=loadfile tests/research

bench-seeds: setup ## sample each decision of a playback under other seeds (minutes)
	@$(BIN)/python -m scripts.bench_seeds $(STATE)

playback: setup ## play 250 decisions in a new ledger and write docs/measured/playback.md (minutes)
	@$(BIN)/python scripts/playback_page.py

ledger-size: setup ## measure what a decision costs on disk, per drafter and plan (minutes)
	@$(BIN)/python scripts/ledger_size.py

screenshots: setup ## look at every page in a real browser, with and without JavaScript
	@$(BIN)/python scripts/screenshots.py

kinds: setup ## write the table of record kinds from their classes, then verifiers and docs
	@$(BIN)/python scripts/kinds.py

verifier: setup ## join audit/verifier/parts/ into the one file that outsiders get
	@$(BIN)/python scripts/build_verifier.py

docs: setup ## write the pages of docs/ that repeat the code
	@$(BIN)/python scripts/document.py

lock: setup ## resolve requirements/*.in again; the diff is the review
	@$(BIN)/python scripts/lock.py

clean: ## remove what checking made: never the environment, never a ledger
	@rm -rf build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
