#!/bin/bash
# Prepares two real PyTorch systems without a GPU, once: Debian 12 with PyTorch 1.13 and Debian 13 with PyTorch 2.6, each in a
# folder of its own. Prints nothing that is not worth reading; takes about two minutes and 3 GB the first time.
#
#   prepare.sh [DIR]     DIR defaults to ${FAULTLINE_CACHE:-$HOME/.cache/faultline}/realtorch
#
# Needs root, the network, and debootstrap (which it installs where apt-get is there).
set -euo pipefail

dir=${1:-${FAULTLINE_CACHE:-$HOME/.cache/faultline}/realtorch}
mirror=${DEBIAN_MIRROR:-http://deb.debian.org/debian}
mkdir -p "$dir"

if ! command -v debootstrap >/dev/null; then
	echo "installing debootstrap"
	apt-get install -y --no-install-recommends debootstrap </dev/null >/dev/null ||
		{ apt-get update </dev/null >/dev/null && apt-get install -y --no-install-recommends debootstrap </dev/null >/dev/null; }
fi

prepare() {
	local suite=$1 root="$dir/$1" part="$dir/$1.part" log="$dir/$1.log" start=$SECONDS
	if [ -e "$root/.ready" ]; then
		echo "$suite is ready in $root"
		return
	fi
	echo "building $suite with python3-torch in $root (log: $log)"
	rm -rf "$part"
	{
		debootstrap --variant=minbase "$suite" "$part" "$mirror"
		chroot "$part" env DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends python3-torch
		chroot "$part" apt-get clean
	} </dev/null >"$log" 2>&1 || {
		tail -n 20 "$log" >&2
		return 1
	}
	# Each "node" of a job has an address of its own on the loopback, so that its name resolves to itself.
	{
		echo "127.0.0.1 localhost"
		for n in 0 1 2 3; do echo "127.0.0.1$n node$n"; done
	} >"$part/etc/hosts"
	mkdir -p "$part/opt/faultline" "$part/out"
	touch "$part/.ready"
	mv "$part" "$root"
	echo "$suite is ready after $((SECONDS - start)) s"
}

prepare bookworm
prepare trixie
