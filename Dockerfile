# The bot as one static binary that runs as nobody, without a shell.
#
#   docker build -t faultline .
#   docker run --rm -v "$PWD/logs-4242:/logs:ro" faultline diagnose /logs
#   docker run -v faultline:/var/lib/faultline -v /var/log/slurm:/var/log/slurm:ro -v "$PWD/faultline.yaml:/faultline.yaml:ro" \
#     -e SLACK_APP_TOKEN -e SLACK_BOT_TOKEN faultline serve --config /faultline.yaml

# A tag may be built anew, a digest is always the same image. For another release of Go: docker buildx imagetools inspect golang:X-bookworm.
ARG GO=golang:1.26.8-bookworm@sha256:a688600ca24f8a4d3ca77f95b0dd40704a9fc787c826660eb7ba0b641b8b175d
FROM ${GO} AS build
WORKDIR /src
COPY go.mod go.sum ./
RUN go mod download && go mod verify
COPY . .
ARG VERSION=0.1.0
RUN CGO_ENABLED=0 go build -trimpath -ldflags "-s -w -X main.version=${VERSION}" -o /out/bot ./cmd/bot \
 && mkdir -m 1777 /out/tmp && mkdir -p /out/lib/faultline && chown 65532:65532 /out/lib/faultline

FROM scratch
COPY --from=build /out/bot /bot
# Slack and S3 are reached over TLS: the authorities of the image that built the binary.
COPY --from=build /etc/ssl/certs/ca-certificates.crt /etc/ssl/certs/ca-certificates.crt
# Archives are unpacked below /tmp; what must survive is below /var/lib/faultline, the folder of the
# documents and of the example configuration: mount a volume there. A fresh one takes over its owner.
COPY --from=build /out/tmp /tmp
COPY --from=build --chown=65532:65532 /out/lib /var/lib
ENV XDG_STATE_HOME=/var/lib
VOLUME /var/lib/faultline
USER 65532:65532
ENTRYPOINT ["/bot"]
CMD ["help"]
