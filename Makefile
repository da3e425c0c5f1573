# Thin: every target is one call of the builder. `make` alone says what there is.
PYTHON ?= python3
VENV   ?= .venv
OUT    ?= dist
UPSTREAM ?=
SCOPE    ?=
RANGE    ?=
ARGS   ?=

BIN     := $(VENV)/bin
BUILDER := $(BIN)/python -m builder
STAMP   := $(VENV)/.installed

# Recipes read these from the environment, so that spaces and quotes in them are safe.
export OUT UPSTREAM RANGE SCOPE

# On the command line of make, a mistyped variable or an empty one would build something else in silence.
# Those of other programs have an underscore, or stand in front of make.
OURS := OUT UPSTREAM SCOPE RANGE ARGS UPSTREAM_GIT ARCHIVE PACK KERNEL CARD PIECE EVIDENCE PYTHON VENV
given := $(foreach name,$(.VARIABLES),$(if $(filter command,$(origin $(name))),$(name)))
others := $(filter-out $(OURS) SWITCHES SHELL MAKE% -%,$(given))
unknown := $(firstword $(foreach name,$(others),$(if $(findstring _,$(name)),,$(name))))
$(if $(unknown),$(error there is no variable $(unknown). UPSTREAM names the pin, commit, tag, branch or release, and \
options go into ARGS="..."; the others are $(filter-out UPSTREAM ARGS,$(OURS)). What another program reads stands in \
front: `$(unknown)=... make`))
given := $(filter-out ARGS KERNEL,$(filter $(OURS),$(given)))
empty := $(firstword $(foreach name,$(given),$(if $(value $(name)),,$(name))))
$(if $(empty),$(error $(empty) is empty: give it a value, or leave it out for the default))

TARGETS := help setup dist plan lock verify verify-quick gpu-pack verify-gpu verify-dist lift sweep doctor docs test \
test-all check bench clean
# Make would build what stands before a word that is no target, and miss the target then.
word := $(firstword $(filter-out $(TARGETS) $(STAMP),$(MAKECMDGOALS)))
$(if $(word),$(error there is no target $(word). The targets are $(TARGETS); options go into ARGS="--with $(word)"))

.PHONY: $(TARGETS)
help:
	@echo 'make dist [UPSTREAM=sha|tag|branch|pin|pypi:VERSION] [OUT=dist]   build the distribution'
	@echo 'make dist SCOPE=NAME                                              a variant that the manifest names'
	@echo 'make plan [UPSTREAM=...]                                          show what it would change'
	@echo 'make lock [UPSTREAM=...]                                          prove pins, all by default, and record them'
	@echo 'make verify [OUT=dist]                                            compare its behaviour with upstream'
	@echo 'make verify-dist [UPSTREAM_GIT=DIR|ARCHIVE=FILE] [OUT=dist]       check an output without the builder'
	@echo 'make verify-quick [OUT=dist]                                      a few minutes of it'
	@echo 'make gpu-pack [UPSTREAM=...] [CARD=sm90] [PACK=pack]              what verify-gpu needs, in one folder'
	@echo 'make verify-gpu [UPSTREAM=...] [PACK=pack]                        compare with real kernels, on a GPU'
	@echo 'make lift UPSTREAM=... [ARGS="--from PIN"]                        say what a newer upstream breaks and brings'
	@echo 'make sweep RANGE=A..B [ARGS="--every 10"]                         try the manifest on many commits'
	@echo 'make test [ARGS=...]                                              run the tests that every change must pass'
	@echo 'make test-all [ARGS=...]                                          run all tests'
	@echo 'make check                                                        lint, types, layers and the site of docs/'
	@echo 'make bench                                                        measure, as ratios to a floor'
	@echo 'make docs                                                         write the generated pages again'
	@echo 'make doctor                                                       check tools, manifest, upstreams'
	@echo 'more verbs and options:  $(BIN)/python -m builder --help'

# The virtual environment is made anew when the pinned dependencies change.
# Every file that pip installs has the digest that requirements.lock states; the builder itself comes last.
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check
$(STAMP): pyproject.toml requirements.lock
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 10) and "Python 3.10 or newer is needed")'
	$(PYTHON) -m venv $(VENV)
	$(PIP) --require-hashes --requirement requirements.lock
	$(PIP) --no-deps --no-build-isolation --editable .
	touch $(STAMP)

setup: $(STAMP)

dist: $(STAMP)
	$(BUILDER) dist --out "$$OUT" $(if $(SCOPE),--scope "$$SCOPE") $(ARGS) -- "$$UPSTREAM"

plan: $(STAMP)
	@$(BUILDER) plan --out "$$OUT" $(if $(SCOPE),--scope "$$SCOPE") $(ARGS) -- "$$UPSTREAM" || [ $$? -eq 3 ]

# Without UPSTREAM, every pin of the manifest is proven, and every named scope.
lock: $(STAMP)
	$(BUILDER) lock $(if $(SCOPE),--scope "$$SCOPE") $(ARGS) -- "$$UPSTREAM"

# What was built is imported, started and run beside upstream; no GPU is needed.
verify: $(STAMP)
	$(BUILDER) verify --out "$$OUT" $(ARGS)

# A few minutes of it: all but upstream's own tests, with a forward pass of each kind.
verify-quick: $(STAMP)
	$(BUILDER) verify --out "$$OUT" --quick --check output --check parts --check arguments --check launch \
	  --check imports --check forward $(ARGS)

# Sums, tree, wheel, provenance and patch, with git and Python alone: no virtual environment.
# The archive of a release has the digest that is stated, wherever it comes from: the builder's cache will do.
UPSTREAM_GIT ?= $(SGLANG_MIRROR)
ARCHIVE ?= $(or $(BUILDER_CACHE),$(or $(XDG_CACHE_HOME),$(HOME)/.cache)/sglang-deepseek)
export UPSTREAM_GIT ARCHIVE
verify-dist:
	@$(PYTHON) -I verification/dist.py "$$OUT" "$$UPSTREAM_GIT" "$$ARCHIVE"

# What a machine with a GPU needs, in one folder: both trees, the published kernel wheel and ours.
# KERNEL= leaves the wheels out; the references of verification/kernels stand for them then. CARD brings the
# packages too, for this architecture alone: PACK/pieces is all that a machine without a network needs, in folders
# of PIECE bytes at most.
PACK     ?= pack
KERNEL   ?= $(PACK)/kernel
CARD     ?=
PIECE    ?= 48M
EVIDENCE ?= evidence
export PACK KERNEL CARD PIECE EVIDENCE
gpu-pack: $(STAMP)
	mkdir -p "$$PACK"
	$(BUILDER) dist --out "$$PACK/dist" $(if $(SCOPE),--scope "$$SCOPE") -- "$$UPSTREAM"
	$(if $(KERNEL),$(BUILDER) kernel-wheel --download $(if $(SCOPE),--scope "$$SCOPE") $(if $(CARD),--architecture "$$CARD") \
	  --out "$$KERNEL" -- "$$UPSTREAM")
	$(BIN)/python -m verification.pack --out "$$PACK/dist" --to "$$PACK" --upstream "$$UPSTREAM" \
	  $(if $(KERNEL),--kernel "$$KERNEL") $(if $(CARD),--wheels) $(ARGS)
	$(if $(CARD),$(BIN)/python -m verification.pieces.make --pack "$$PACK" --to "$$PACK/pieces" --card "$$CARD" \
	  --piece "$$PIECE")

# On that machine, whose python3 has torch for its GPU and what SGLang needs. A pack that is there is taken
# unless UPSTREAM names one to make; with it no virtual environment, mirror or network is needed. Pieces are opened
# into PACK/opened, and bring the packages that SGLang needs.
verify-gpu:
	@python3 -c 'import importlib.util as u, sys; u.find_spec("torch") or sys.exit("error: python3 has no torch")'
	@if [ -z "$$UPSTREAM" ] && [ -e "$$PACK/pieces/p1/index.json" ]; then set -x; \
	  exec python3 verification/pieces/open.py "$$PACK/pieces" --to "$$PACK/opened" -- --out "$$EVIDENCE" $(ARGS); fi; \
	if [ -n "$$UPSTREAM" ] || [ ! -e "$$PACK/subjects.json" ]; then $(MAKE) gpu-pack ARGS= || exit; fi; \
	if [ -e "$$PACK/kernel-ours.whl" ]; then module=verification.real.run; else module=verification.gpu; fi; \
	set -x; python3 -m "$$module" --pack "$$PACK" --out "$$EVIDENCE" $(ARGS)

# Writes lift/COMMIT/; the manifest is changed by ARGS=--accept only.
lift: $(STAMP)
	@$(BUILDER) lift $(ARGS) -- "$$UPSTREAM" || [ $$? -eq 3 ]

sweep: $(STAMP)
	$(BUILDER) sweep $(ARGS) -- "$$RANGE"

doctor: $(STAMP)
	$(BUILDER) doctor $(ARGS) -- "$$UPSTREAM"

# The pages that are made from the schema, the table of errors, the manifest and its lock, and figures; and what
# programs print in others.
docs: $(STAMP)
	$(BUILDER) schema --reference > docs/manifest.md
	$(BUILDER) explain --markdown > docs/errors.md
	$(BUILDER) explain --verbs > docs/verbs.md
	$(BUILDER) scope > docs/scope.md
	$(BIN)/python benchmarks/closure.py --render
	$(BIN)/python benchmarks/gains.py --render
	$(BIN)/python benchmarks/speed.py
	$(BIN)/python benchmarks/transcripts.py
	$(BIN)/python tests/faults/reliability.py --render
	$(BIN)/python -m verification.overview

check: $(STAMP)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --strict

# The folders of pyproject.toml's testpaths; `make test ARGS=FILE` runs one file of any folder.
test: $(STAMP)
	$(BIN)/python -m pytest $(ARGS)

# Also real upstreams, faults in full, and what is long.
test-all: $(STAMP)
	$(BIN)/python -m pytest --override-ini testpaths=tests $(ARGS)

bench: $(STAMP)
	$(BIN)/python benchmarks/run.py $(ARGS)

clean:
	rm -rf $(VENV) .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache site
