#!/bin/sh
# Compares `bot diagnose` with ripgrep, which looks for the same strings in the same files: round by round, one after the
# other, page cache warm, on one core and on two. Prints each round and the medians. The processor time disturbs less
# than the wall clock where the machine has other work.
#
#   bench/compare.sh [KIND [FILES [SIZE [ROUNDS]]]]      mixed 12 25000000 5; KIND: mixed, steps, storm
set -eu
cd "$(dirname "$0")/.."
kind=${1:-mixed} files=${2:-12} size=${3:-25000000} rounds=${4:-5}
command -v rg >/dev/null || { echo "ripgrep (rg) is not installed" >&2; exit 2; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
go build -o "$work/bot" ./cmd/bot
go run ./bench/literals >"$work/literals"
go run ./bench/generate -kind "$kind" -files "$files" -size "$size" -out "$work/logs"
cat "$work"/logs/* >/dev/null

# run NAME COMMAND...: a line "NAME wall processor peak-kB". The output goes to a file: some tools stop early on /dev/null.
run() {
	name=$1
	shift
	/usr/bin/time -o "$work/time" -f "%e %U %S %M" "$@" >"$work/out" 2>/dev/null || true
	tail -n 1 "$work/time" | awk -v n="$name" '{printf "%s %.2f %.2f %d\n", n, $1, $2 + $3, $4}' | tee -a "$work/rounds"
}

i=0
while [ $i -lt "$rounds" ]; do
	for j in 1 2; do
		run "rg/$j" rg --no-unicode -a -n -b -j$j -F -f "$work/literals" "$work/logs"
		run "bot/$j" env GOMAXPROCS=$j "$work/bot" diagnose --format json "$work/logs"
	done
	i=$((i + 1))
done
echo "median: wall s, processor s, peak kB"
for n in rg/1 bot/1 rg/2 bot/2; do
	grep "^$n " "$work/rounds" | sort -k2 -n | awk -v n="$n" '{w[NR]=$2; c[NR]=$3; m=($4>m)?$4:m} END {k=int((NR+1)/2); for (i=1;i<=NR;i++) for (l=i+1;l<=NR;l++) if (c[l]<c[i]) {t=c[i];c[i]=c[l];c[l]=t} printf "%-6s %8.2f %8.2f %9d\n", n, w[k], c[k], m}'
done
