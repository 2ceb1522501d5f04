# `make` prints the targets.

PYTHON ?= python3
bin := .venv/bin

# With this variable set, every process that a test starts would compile all code again.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: help
help: ## Print this help
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/\1|\2/p' Makefile | while IFS='|' read -r name text; do printf '  make %-13s %s\n' "$$name" "$$text"; done
	@echo
	@echo "Commands (after make install): .venv/bin/flask --app app COMMAND --help"
	@if [ -x $(bin)/flask ]; then $(bin)/flask --app app --help | sed -n '/^Commands:/,$$p' | grep -vE '^Commands:|^  (routes|run|shell) ' || true; fi

.PHONY: run
run: .venv/installed ## Install the packages and start the server on http://127.0.0.1:4242
	@exec $(bin)/python -c 'from serving.start import serve; serve()'

.PHONY: demo
demo: .venv/installed ## Start a demo with example data on http://127.0.0.1:4243
	@exec $(bin)/flask --app app demo

.PHONY: backup
backup: .venv/installed ## Write a backup to a new file, or to FILE=name
	@exec $(bin)/flask --app app backup $(if $(FILE),-- "$$FILE")

.PHONY: restore
restore: .venv/installed ## Restore FILE=name into an empty instance; REPLACE=yes first drops the existing schema
	@exec $(bin)/flask --app app restore $(if $(filter yes,$(REPLACE)),--replace) $(if $(FILE),-- "$$FILE",$(error FILE is missing: make restore FILE=name))

.PHONY: schema-diff
schema-diff: .venv/installed ## Compare the schema of the instance with schema.sql
	@exec $(bin)/flask --app app schema-diff

.PHONY: test
test: .venv/installed-dev ## Run the tests on an embedded PostgreSQL, or on TEST_DATABASE_URL
	@exec $(bin)/python -m pytest -n 2 --dist loadfile -m "not slow"

.PHONY: test-slow
test-slow: .venv/installed-dev sdks ## Run the tests that start many real processes
	@exec $(bin)/python -m pytest -n 3 --dist loadfile --no-loadscope-reorder -m slow

.PHONY: test-postgres
test-postgres: .venv/installed-dev ## Run the tests that depend on the PostgreSQL version
	@exec $(bin)/python -m pytest -n 2 --dist loadfile -m "postgres and not slow"

.PHONY: coverage
coverage: .venv/installed-dev ## Run the tests and list the lines and branches that they miss
	@exec $(bin)/python -m pytest -n 2 --dist loadfile -m "not slow" --cov

.PHONY: bench
bench: .venv/installed-dev ## Measure with up to 1 million events and 10,000 flags; BASE=../other compares searches with another checkout
	@$(bin)/python -m bench
	@exec $(bin)/python -m bench.applications

.PHONY: check
check: .venv/installed-dev ## Check style, types and English
	$(bin)/ruff check .
	$(bin)/ruff format --check .
	$(bin)/basedpyright
	$(bin)/python -m pytest -q tests/docs/test_plain_english.py tests/docs/test_links.py

.PHONY: format
format: .venv/installed-dev ## Format the code
	$(bin)/ruff check --fix .
	$(bin)/ruff format .

.PHONY: generate
generate: .venv/installed-dev ## Regenerate docs/openapi.json and docs/reference/operations.md
	$(bin)/python -m tests.support.openapi > docs/openapi.json.new
	mv docs/openapi.json.new docs/openapi.json
	$(bin)/python -m tests.support.operations_page > docs/reference/operations.md

# Pin for all systems and Python 3.11 or newer, with the hashes of all files of a release. No package index is named.
compile := .pins/bin/uv pip compile --quiet --no-config --universal --python-version 3.11 --generate-hashes --no-annotate --custom-compile-command 'make pins'

.PHONY: pins
pins: ## Regenerate the requirements files with the same versions
	rm -rf .pins && $(PYTHON) -m venv .pins
	.pins/bin/pip install --quiet --disable-pip-version-check uv
	$(PYTHON) tests/support/dependencies.py | $(compile) --output-file requirements.txt -
	$(PYTHON) tests/support/dependencies.py dev | $(compile) --constraint requirements.txt --output-file requirements-dev.txt -
	$(compile) --output-file tests/sdk/requirements.txt tests/sdk/requirements.in
	rm -rf .pins

.PHONY: upgrade
upgrade: ## Regenerate the requirements files with the newest versions
	rm -f requirements.txt requirements-dev.txt tests/sdk/requirements.txt
	$(MAKE) pins

.PHONY: audit
audit: .venv/installed-dev ## Check the pinned packages for known vulnerabilities; needs network access
	-$(bin)/pip list --disable-pip-version-check --outdated
	$(PYTHON) -m venv .audit && .audit/bin/pip install --quiet --disable-pip-version-check pip-audit
	.audit/bin/pip-audit --strict --disable-pip --require-hashes --requirement requirements-dev.txt

.PHONY: install
install: .venv/installed ## Create .venv and install the pinned packages

.PHONY: clean
clean: ## Delete .venv and caches; keep data
	rm -rf .venv .pins .audit .sdks .pytest_cache .ruff_cache .hypothesis .coverage
	find . -name __pycache__ -prune -exec rm -rf {} +

.venv/bin/pip:
	@$(PYTHON) -c 'import sys; sys.version_info >= (3, 11) or sys.exit("Python 3.11 or newer is needed; this is " + sys.version.split()[0] + ". Name another: make run PYTHON=python3.12")'
	$(PYTHON) -m venv .venv

.venv/installed: requirements.txt | .venv/bin/pip
	$(bin)/pip install --quiet --disable-pip-version-check --require-hashes --requirement requirements.txt
	@touch $@

.venv/installed-dev: requirements.txt requirements-dev.txt | .venv/bin/pip
	$(bin)/pip install --quiet --disable-pip-version-check --require-hashes --requirement requirements-dev.txt
	@touch .venv/installed $@

# The SDKs that tests/sdk drives, and axe-core for tests/browser. Packages in JavaScript only if npm is installed.
.PHONY: sdks
sdks: .sdks/python/installed $(if $(shell command -v npm),.sdks/node/installed)

.sdks/python/installed: tests/sdk/requirements.txt
	rm -rf $(@D)
	$(PYTHON) -m venv $(@D)
	$(@D)/bin/pip install --quiet --disable-pip-version-check --require-hashes --requirement $<
	@touch $@

.sdks/node/installed: tests/sdk/package.json tests/sdk/package-lock.json
	rm -rf $(@D) && mkdir -p $(@D)
	cp $^ $(@D)
	npm ci --prefix $(@D) --silent --no-audit --no-fund --ignore-scripts
	@touch $@
