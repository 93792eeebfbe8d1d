# Backstop. `make` lists what can be made.

GO       ?= go
FUZZTIME ?= 30s
BENCH    ?= .
# Where make chaos writes its table: chaos.md and chaos.json.
CHAOS_OUT ?= dist/chaos
# The packages that `make race` tests.
RACE     ?= ./...

# Run at this version, whatever is installed; not a dependency of the module.
STATICCHECK = $(GO) run honnef.co/go/tools/cmd/staticcheck@v0.8.2

.DEFAULT_GOAL := help

.PHONY: help
help: ## List these targets
	@awk -F ':.*## ' '/^[a-z][a-z-]*:.*## /{printf "  make %-12s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

.PHONY: setup
setup: ## Install what the tests need (as root on Debian), or say what to install
	@scripts/setup redis postgres cc

.PHONY: build
build: ## Compile bin/worker and bin/enqueue
	CGO_ENABLED=0 $(GO) build -trimpath -o bin/ ./cmd/...

.PHONY: demo
demo: ## Show it all in one process: three replicas, an outage, sample leads
	$(GO) run ./cmd/worker demo

.PHONY: test
test: ## Run all tests once, against real servers, with the race detector where there are goroutines
	@scripts/setup redis postgres cc
	@GO=$(GO) scripts/test

.PHONY: race
race: ## Run the tests of RACE (./...), shortened, with the race detector
	@scripts/setup redis postgres cc
	CGO_ENABLED=1 $(GO) test -race -short $(RACE)

.PHONY: chaos-short
chaos-short: setup ## Run the fault tests, shortened: processes killed, servers lost
	$(GO) test -count=1 ./chaos/...

.PHONY: chaos
chaos: setup ## Run the fault tests in full; the table goes to dist/chaos
	@mkdir -p $(CHAOS_OUT)
	CHAOS=full CHAOS_OUT=$(abspath $(CHAOS_OUT)) $(GO) test -count=1 -timeout=90m ./chaos/...
	@cat $(CHAOS_OUT)/chaos.md

.PHONY: bench
bench: setup ## Run the benchmarks; BENCH is a pattern of names
	$(GO) test -run='^$$' -bench='$(BENCH)' -benchmem ./...

.PHONY: fuzz
fuzz: ## Fuzz each parser for FUZZTIME (30s)
	@scripts/fuzz $(FUZZTIME)

.PHONY: lint
lint: fmt-check vet staticcheck ## Check format, go vet and staticcheck

.PHONY: fmt-check
fmt-check:
	@unformatted=$$(gofmt -l .) && [ -z "$$unformatted" ] || \
		{ echo "not formatted (gofmt -w them):"; echo "$$unformatted"; exit 1; }

.PHONY: vet
vet:
	$(GO) vet ./...

.PHONY: staticcheck
staticcheck:
	$(STATICCHECK) ./...

.PHONY: ci
ci: ## Run what continuous integration runs
	.ci/run

.PHONY: clean
clean: ## Remove what was built and the embedded ledger's folder
	rm -rf bin dist backstop-data
