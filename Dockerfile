# The bot as one static binary that runs as nobody, without a shell.
#
#   docker build -t faultline .
#   docker run --rm -v "$PWD/logs-4242:/logs:ro" faultline diagnose /logs
#   docker run -v faultline:/data -v /var/log/slurm:/var/log/slurm:ro -v "$PWD/faultline.yaml:/faultline.yaml:ro" \
#     -e SLACK_APP_TOKEN -e SLACK_BOT_TOKEN faultline serve --config /faultline.yaml

FROM golang:1.26.8-bookworm AS build
WORKDIR /src
COPY go.mod go.sum ./
RUN go mod download && go mod verify
COPY . .
ARG VERSION=0.1.0
RUN CGO_ENABLED=0 go build -trimpath -ldflags "-s -w -X main.version=${VERSION}" -o /out/bot ./cmd/bot \
 && mkdir -m 1777 /out/tmp && mkdir -p /out/data && chown 65532:65532 /out/data

FROM scratch
COPY --from=build /out/bot /bot
# Slack and S3 are reached over TLS: the authorities of the image that built the binary.
COPY --from=build /etc/ssl/certs/ca-certificates.crt /etc/ssl/certs/ca-certificates.crt
# Archives are unpacked below /tmp; what must survive is below /data: mount a volume there.
COPY --from=build /out/tmp /tmp
COPY --from=build --chown=65532:65532 /out/data /data
ENV XDG_STATE_HOME=/data
VOLUME /data
USER 65532:65532
ENTRYPOINT ["/bot"]
CMD ["help"]
