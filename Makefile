# make demo    set all up, then run the main job on a real transcript
# make test    set all up, then run every test
# make clients install Claude Code, Codex, OpenCode, pi and others into build/clients, and run them live
# make lint    style, types, and documentation that agrees with the program
# make docs    write the generated parts of the documentation anew
# make pictures  take the pictures of docs/serve.md again: needs Chromium
# make bench   measure against raw sqlite3 and the peers; writes benchmarks/README.md
#
# All set-up goes into .venv; PYTHON names the interpreter it is made from (3.11 or later).

PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
COGGED = README.md $(wildcard docs/*.md)
COG = $(BIN)/python -m cogapp -P -r --markers="<!--[cog cog]--> <!--[end]-->"

.PHONY: all setup demo test clients lint docs pictures bench clean
all: lint test

setup: $(READY)

# A Python whose venv does not work (Debian's, without python3-venv) gets virtualenv, from its own
# pip, however old, into a folder of ours. An environment that is there is kept and brought up to date.
$(READY): pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
	  || { echo "foldlog needs Python 3.11 or later: make PYTHON=python3.12 …"; exit 1; }
	$(BIN)/python -m pip --version >/dev/null 2>&1 || $(PYTHON) -m venv $(VENV) || { \
	  $(PYTHON) -m pip install --quiet --target build/virtualenv virtualenv && \
	  PYTHONPATH=build/virtualenv $(PYTHON) -m virtualenv --quiet $(VENV); }
	$(BIN)/python -m pip install --quiet --upgrade 'pip>=25.1'
	$(BIN)/python -m pip install --quiet --editable . --group dev
	touch $(READY)

demo: $(READY)
	@$(BIN)/python -m demo

test: $(READY)
	$(BIN)/python -m pytest -n auto

# What real programs send must be what foldlog shows. They need npm and about 3 GB; nothing of it goes
# into .venv, and no request leaves the machine.
clients: $(READY)
	$(BIN)/python -m tests.clients install
	FOLDLOG_CLIENTS=build/clients $(BIN)/python -m pytest -n auto tests/clients

lint: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy --strict -p foldlog
	$(BIN)/mypy --strict tests/packaging/typed.py
	$(COG) --check --diff $(COGGED)

docs: $(READY)
	$(BIN)/python -m docs.generate.invisible
	$(BIN)/python -m docs.picture
	$(COG) $(COGGED)

pictures: $(READY)
	$(BIN)/python -m docs.viewer

bench: $(READY)
	$(BIN)/python -m benchmarks --write

clean:
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache .hypothesis build dist
