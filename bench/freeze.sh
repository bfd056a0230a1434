#!/bin/bash
# Freezes what the engine says of every case there is: real cases, captures, the scoreboard's simulated incidents, and the tables of the
# engine's tests. Takes a little more than a minute of processor time.
#
#   bench/freeze.sh DIR                        before a change
#   go run ./cmd/bot eval --against DIR        after it: each field that changed; --sample is quicker, and so is TMPDIR=/dev/shm
#
# SHARED is where corpus, field, field-ais and samples lie: ../shared beside the repository.
set -euo pipefail
[ $# = 1 ] || { sed -n '2,8s/^# \{0,1\}//p' "$0" >&2; exit 2; }
dir=$(realpath -m "$1")
cd "$(dirname "$0")/.."
shared=${SHARED:-../shared}
temp=$(mktemp -d)
trap 'rm -rf "$temp"' EXIT

go build -o "$temp/bot" ./cmd/bot
tests=$(awk '/^func Test/ {name = $2; sub(/\(.*/, "", name)} /fieldCase\{/ {print name}' analysis/diagnose/*_test.go | sort -u | paste -sd '|')
go test -count=1 -run "^($tests)\$" ./analysis/diagnose -args -cases "$temp/tests" >"$temp/out" || { cat "$temp/out" >&2; exit 1; }
# The cases are unpacked one by one: in memory, where that is possible, it takes half the time.
if [ -w /dev/shm ]; then export TMPDIR=/dev/shm; fi
subjects=("$temp/tests")
for name in corpus field samples; do
	if [ -d "$shared/$name" ]; then subjects+=("$shared/$name"); else echo "not frozen: $shared/$name is not there" >&2; fi
done
for logs in "$shared"/field-ais/*/logs; do # the daemons' logs lie in nodes/ there
	[ -d "$logs" ] || continue
	from=$(dirname "$logs") to=$temp/field-ais/$(basename "$(dirname "$logs")")
	mkdir -p "$to"
	cp -r "$logs" "$to/logs"
	cp -r "$from/nodes" "$to/ais-logs"
	echo '{}' >"$to/case.json"
done
if [ -d "$temp/field-ais" ]; then subjects+=("$temp/field-ais"); fi
"$temp/bot" eval --freeze "$dir" --simulated 176 --line 6 --seed 2026
"$temp/bot" eval --freeze "$dir" --simulated 2000 --seed 2026 "${subjects[@]}"
