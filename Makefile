# recibo's targets. `make` alone explains them.
STATICCHECK := honnef.co/go/tools/cmd/staticcheck@v0.8.2
ACTIONLINT := github.com/rhysd/actionlint/cmd/actionlint@v1.7.12

.PHONY: help test lint unit race fuzz bench image image-test generate tidy

help: ## explain the targets
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*## /\t/' | expand -t 12

test: lint race ## all that a change must pass: lint, then every test with the race detector

lint: ## formatting, vet, staticcheck, generated parts, workflows
	@test -z "$$(gofmt -l .)" || { gofmt -l .; echo "run gofmt -w on these"; exit 1; }
	go vet ./...
	go vet -tags docker ./internal/e2e ./pkg/artifact
	GOOS=darwin GOARCH=arm64 go vet ./...
	GOOS=linux GOARCH=arm64 go vet ./...
	go run $(STATICCHECK) ./...
	go run $(ACTIONLINT) -shellcheck= .github/workflows/*.yml

unit: ## every test, without the race detector
	go test -shuffle=on ./...

race: ## every test, with the race detector
	go test -race -shuffle=on ./...

fuzz: ## a minute for each fuzz target
	@for p in $$(go list ./...); do \
	  for f in $$(go test -list '^Fuzz' $$p | grep '^Fuzz'); do \
	    go test -run '^$$' -fuzz "^$$f$$" -fuzztime $${FUZZTIME:-60s} $$p || exit 1; done; done

bench: ## benchmarks; ratios within one run are what counts
	go test -run '^$$' -bench . -benchmem ./...

image: ## build the action's image as recibo:e2e
	DOCKER_BUILDKIT=0 docker build --network host -t recibo:e2e \
	  --build-arg NPM_CONFIG_REGISTRY="$$(npm config get registry)" --build-arg GOPROXY="$$(go env GOPROXY)" .

image-test: image ## try the image as a runner would start it (needs Docker)
	go test -tags docker -count=1 -timeout 20m -run 'Act|Image|Container|Hostile|Cancelled' ./internal/e2e ./pkg/artifact

generate: ## write the generated parts of action.yml and README.md
	go run ./internal/generate

tidy: ## fail when go.mod is not tidy
	go mod tidy -diff
