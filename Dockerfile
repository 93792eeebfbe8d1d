# syntax=docker/dockerfile:1

# Both commands in one small image without a shell. Build it for another
# architecture with: docker buildx build --platform linux/arm64 .

FROM --platform=$BUILDPLATFORM golang:1.26-bookworm AS build
WORKDIR /src
COPY go.mod go.sum ./
RUN --mount=type=cache,target=/go/pkg/mod go mod download
COPY . .
ARG TARGETOS TARGETARCH
ENV CGO_ENABLED=0
RUN --mount=type=cache,target=/go/pkg/mod --mount=type=cache,target=/root/.cache/go-build \
    GOOS=$TARGETOS GOARCH=$TARGETARCH \
    go build -trimpath -buildvcs=false -ldflags='-s -w' -o /out/ ./cmd/worker ./cmd/enqueue
# The folders of the image below, to be given to its user.
RUN mkdir /out/data /out/tmp

# Certificates and the commands; nothing else, and a user without rights.
FROM scratch
COPY --from=build /etc/ssl/certs/ca-certificates.crt /etc/ssl/certs/
COPY --from=build /out/worker /out/enqueue /usr/local/bin/
COPY --from=build --chown=65532:65532 /out/data /data
COPY --from=build --chown=65532:65532 /out/tmp /tmp
USER 65532:65532
# `worker --embedded` keeps its ledger in ./backstop-data.
WORKDIR /data
VOLUME /data
# The metrics and health server listens on 127.0.0.1:9090 unless told otherwise.
EXPOSE 9090
ENTRYPOINT ["/usr/local/bin/worker"]
CMD ["run"]
