#!/bin/bash
# Builds AIStore's daemon, of the exact version that cluster/go.mod names, into the cache. Starts nothing. Its modules are its
# own: the bot needs none of them.
set -euo pipefail
cd "$(dirname "$0")/cluster"
cache=${FAULTLINE_CACHE:-$HOME/.cache/faultline}
version=$(sed -nE 's/^.*NVIDIA\/aistore (v[0-9.]+).*$/\1/p' go.mod)
# The name is not free: a daemon of another one names its logs otherwise.
bin=$cache/tools/aistore-$version/aisnode
if [ ! -x "$bin" ]; then
	echo "building AIStore $version"
	GOFLAGS=-mod=readonly CGO_ENABLED=0 go build -trimpath -ldflags "-s -w -X main.build=$version -X main.buildtime=test" -o "$bin.part" github.com/NVIDIA/aistore/cmd/aisnode
	mv "$bin.part" "$bin"
fi
need=()
command -v mkfs.ext4 >/dev/null || need+=(e2fsprogs)
command -v nft >/dev/null || need+=(nftables)
[ ${#need[@]} = 0 ] || { apt-get update -qq && apt-get install -y -qq --no-install-recommends "${need[@]}"; } </dev/null >/dev/null
echo "AIStore is built: $version"
