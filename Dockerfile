# The action's image: recibo, the pinned Codex CLI, git, a shell. No Node, no caches.
#
# Classic-builder compatible: no RUN --mount, COPY --chmod or heredocs.

# The registry that npm itself comes with, for other `codex-version`s at run time, asked of a
# clean npm; and the one that this build installs from, which may be a mirror.
FROM node:22-bookworm-slim AS registry
ARG NPM_CONFIG_REGISTRY
RUN mkdir /registry \
 && env -i PATH="$PATH" HOME=/nonexistent npm_config_userconfig=/nonexistent/user npm_config_globalconfig=/nonexistent/global npm config get registry > /registry/default \
 && npm config get registry > /registry/build

FROM golang:1.26-bookworm AS build
ARG GOPROXY
WORKDIR /src
COPY go.mod go.sum ./
RUN go mod download
COPY . .
ARG VERSION
RUN CGO_ENABLED=0 go build -trimpath -ldflags="-s -w" -o /out/recibo . \
 && CGO_ENABLED=0 go build -trimpath -o /out/bake ./internal/bake
COPY --from=registry /registry /registry
RUN NPM_CONFIG_REGISTRY="$(cat /registry/build)" /out/bake /opt/recibo/codex

FROM debian:bookworm-slim
RUN apt-get update \
 && apt-get install -y --no-install-recommends ca-certificates git \
 && rm -rf /var/lib/apt/lists/* /var/cache/apt/* /var/log/* /usr/share/doc/* /usr/share/man/* /usr/share/locale/*
COPY image/requirements.toml /etc/codex/requirements.toml
COPY --from=registry /registry/default /etc/recibo/npm-registry
COPY --from=build /opt/recibo/codex /opt/recibo/codex
COPY --from=build /out/recibo /usr/local/bin/recibo
# Exec form: a shell would drop the INPUT_ variables whose names have hyphens.
ENTRYPOINT ["/usr/local/bin/recibo"]
