# Everything runs in .venv, which is made on first use and needs nothing but Python 3.11+ and make.
# `make test PYTHON=python3.13` takes that Python, in an environment of its own: .venv-3.13.
#
#   make demo      see it work (NAME=sparse)   make fmt       format and fix
#   make test      tests, engine's coverage    make bench     all tables against torch, ten minutes
#   make lint      style, layers, limits       make fuzz      look for wrong verdicts (N=20000)
#   make type      mypy, strict; pyright       make docs      build the documentation
#   make compat    torch's private names (TORCH=torch==2.11.0 VENV=.venv-2.11)
#   make hostile   all hostile programs in all modes, against eager
#   make browser   the HTML reports in Chromium, which must be installed
#   make ops       all ops in all columns of the table of what passes, then against fake kernels
#   make probe     absurd calls of the ops that a file may name (CALLS=500)
#   make zoo       programs of other libraries, against eager and torch.export (ARGS='--library timm')
#   make onward    exported programs in torch's tools: AOTInductor, ONNX, torchao, ExecuTorch
#   make dist      wheel and sdist in dist/    make smoke     the wheel in a fresh environment
#   make figures   measure the comparison of the README, draw its picture (needs Chromium)
#   make imports   draw the import graphs of the docs (needs Graphviz)
#   make coverage  100% branches in the engine (after make test)
#   make all       lint, type, test, coverage, docs

PYTHON ?= python3
ifneq ($(origin PYTHON),file)  # a Python that was asked for is used, or refused
VERSION := $(shell $(PYTHON) -c 'import sys; print("%d.%d" % sys.version_info[:2])')
$(if $(VERSION),,$(error PYTHON=$(PYTHON) does not run))
VENV   ?= .venv-$(VERSION)
MADE   := $(wildcard $(VENV)/lib/python3.*)
$(if $(MADE:$(VENV)/lib/python$(VERSION)=),$(error $(VENV) was made by another Python than $(VERSION)))
endif
VENV   ?= .venv
TORCH  ?= torch==2.13.0
JOBS   ?= 2
N      ?= 20000
CALLS  ?= 500
SEED   ?= 1
ARGS   ?=

BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip install --disable-pip-version-check -qq

# A stamp is newer than what it was installed from; a change of pyproject.toml installs again.
TORCH_STAMP := $(VENV)/.torch
DEV_STAMP   := $(VENV)/.dev
BENCH_STAMP := $(VENV)/.bench
DOCS_STAMP  := $(VENV)/.docs

# Many libraries with requirements of their own: an environment beside the one for the tests.
ZOO       := $(VENV)-zoo
ZOO_STAMP := $(ZOO)/.zoo

# The same for torch's tools.
ONWARD       := $(VENV)-onward
ONWARD_STAMP := $(ONWARD)/.onward

# What anyshape relies on in torch beyond its public interface, and the signatures of its ops.
COMPAT := tests/unit/torch_compat tests/unit/rules/test_signature.py

ENGINE := src/anyshape/expr/*,src/anyshape/domain/*,src/anyshape/env/*
# The tests that cover the engine. The others run without coverage, which costs half of their time.
COVERING := $(addprefix tests/unit/,domain env expr symbolic trace test_events.py test_errors.py) \
	tests/property tests/soundness $(addprefix src/anyshape/,domain env expr)

EMPTY := [ $$? -eq 5 ]  # pytest's answer where ARGS selects no test of a part

.DEFAULT_GOAL := all
.NOTPARALLEL:
.PHONY: setup demo test compat coverage lint type bench fuzz hostile browser ops probe zoo onward docs figures imports dist smoke fmt all clean

setup: $(DEV_STAMP)

# torch comes first and by exact version, so that no later step replaces it with another build.
$(TORCH_STAMP):
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Python 3.11 or newer is needed")'
	@echo "making $(VENV) with $(TORCH): a minute or two"
	@$(PYTHON) -m venv $(VENV)
	@$(PIP) $(TORCH)
	@touch $@

$(DEV_STAMP): $(TORCH_STAMP) pyproject.toml
	@echo "installing anyshape and its tools"
	@$(PIP) -e '.[dev,models]'
	@touch $@

$(BENCH_STAMP): $(DEV_STAMP)
	@$(PIP) -e '.[bench]'
	@touch $@

$(DOCS_STAMP): $(DEV_STAMP)
	@$(PIP) -e '.[docs]'
	@touch $@

$(ZOO_STAMP): pyproject.toml
	@echo "making $(ZOO) with $(TORCH) and the libraries of the zoo: several minutes"
	@$(PYTHON) -m venv $(ZOO)
	@$(ZOO)/bin/python -m pip install --disable-pip-version-check -qq '$(TORCH)' -e '.[models,zoo]'
	@touch $@

demo: setup
	$(BIN)/python -m anyshape demo $(NAME)

test: setup
	$(BIN)/coverage erase
	$(BIN)/coverage run -m pytest -n $(JOBS) --dist worksteal $(COVERING) $(ARGS) || $(EMPTY)
	$(BIN)/python -m pytest -n $(JOBS) --dist worksteal $(COVERING:%=--ignore=%) $(ARGS) || $(EMPTY)
	$(BIN)/coverage combine -q
	$(BIN)/coverage report

coverage: setup
	$(BIN)/coverage report --include='$(ENGINE)' --fail-under=100

lint: setup
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/lint-imports --no-logo
	$(BIN)/python tools/line_limit.py
	$(BIN)/python tools/folder_readme.py
	$(BIN)/python tools/torch_private.py
	$(BIN)/python tools/reference.py --check

# The same on another release: make compat TORCH=torch==2.11.0 VENV=.venv-2.11
compat: setup
	$(BIN)/python -m pytest -n $(JOBS) --dist loadfile $(COMPAT) $(ARGS)

type: setup
	$(BIN)/mypy
	PYRIGHT_PYTHON_IGNORE_WARNINGS=1 $(BIN)/pyright --pythonpath $(BIN)/python

bench: $(BENCH_STAMP)
	$(BIN)/python benchmarks/report.py $(ARGS)

fuzz: setup
	$(BIN)/python -m tests.soundness.fuzz $(N)

hostile: setup
	$(BIN)/python -m tests.differential.hostile $(ARGS)

ops: setup
	$(BIN)/python -m tests.differential.op_db --column all $(ARGS)
	$(BIN)/python -m tests.differential.fake_kernels $(ARGS)

browser: setup
	@$(PIP) -e '.[browser]'
	$(BIN)/python -m pytest -o addopts= tests/browser $(ARGS)

probe: setup
	$(BIN)/python -m tests.unit.export.files.op_probe --calls $(CALLS) --seed $(SEED)

zoo: $(ZOO_STAMP)
	$(ZOO)/bin/python -m tests.zoo --write $(ARGS)

$(ONWARD_STAMP): pyproject.toml
	@echo "making $(ONWARD) with $(TORCH) and its tools: several minutes"
	@$(PYTHON) -m venv $(ONWARD)
	@$(ONWARD)/bin/python -m pip install --disable-pip-version-check -qq '$(TORCH)'
	@$(ONWARD)/bin/python -m pip install --disable-pip-version-check -qq -e '.[models,onnx,onward]'
	@touch $@

# Exported programs in torch's tools. Minutes, mostly of C++ compilers.
onward: $(ONWARD_STAMP)
	$(ONWARD)/bin/python -m tests.onward --write $(ARGS)

# Without isolation: the build backend is among the tools.
dist: setup
	rm -rf dist
	$(BIN)/python -m hatchling build -d dist
	$(BIN)/python tools/wheel_content.py dist

# The wheel in an environment that has nothing else, with torch: minutes.
smoke: dist
	rm -rf dist/venv
	$(PYTHON) -m venv dist/venv
	dist/venv/bin/python -m pip install --disable-pip-version-check -qq '$(TORCH)' dist/*.whl
	cd dist && venv/bin/python ../tools/smoke.py

figures: setup
	$(BIN)/python benchmarks/sparse.py --write
	$(BIN)/python tools/picture.py

imports: setup
	$(BIN)/python tools/import_graph.py

docs: $(DOCS_STAMP)
	$(BIN)/python tools/import_graph.py --check
	$(BIN)/sphinx-build -E -W --keep-going -n -q -b html docs docs/_build/html

fmt: setup
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .
	$(BIN)/python tools/reference.py

all: lint type test coverage docs

clean:
	rm -rf $(VENV) .venv-[0-9]* build dist docs/_build htmlcov .coverage .coverage.* \
		.hypothesis .import_linter_cache .mypy_cache .pytest_cache .ruff_cache
	find src tests tools benchmarks -name __pycache__ -type d -prune -exec rm -rf {} + 2>/dev/null || true
