#!/bin/sh
# Compares ripgrep with the engine's scanner, which looks for the same strings in the same files, and with `bot diagnose`,
# which also reads, concludes and verifies; as JSON it hashes the cited files, too. Round by round, one after the other,
# page cache warm, on one core and on two. Prints each round, the medians, and how many times slower ripgrep is. Where the
# machine has other work, the processor time is less disturbed than the wall clock.
#
#   bench/compare.sh [KIND [FILES [SIZE [ROUNDS]]]]      mixed 12 25000000 5; KIND: mixed, steps, storm
set -eu
cd "$(dirname "$0")/.."
kind=${1:-mixed} files=${2:-12} size=${3:-25000000} rounds=${4:-5}
command -v rg >/dev/null || { echo "ripgrep (rg) is not installed" >&2; exit 2; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
go build -o "$work/bot" ./cmd/bot
go build -o "$work/scan" ./bench/scan
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
		run "scan/$j" env GOMAXPROCS=$j "$work/scan" "$work/logs"
		run "bot/$j" env GOMAXPROCS=$j "$work/bot" diagnose --format terminal "$work/logs"
		run "json/$j" env GOMAXPROCS=$j "$work/bot" diagnose --format json "$work/logs"
	done
	i=$((i + 1))
done
# median COLUMN NAME
median() { awk -v n="$2" -v c="$1" '$1 == n {print $c}' "$work/rounds" | sort -n | awk '{v[NR]=$1} END {print v[int((NR+1)/2)]}'; }

echo "median: wall s, processor s, peak kB"
for j in 1 2; do
	for n in rg scan bot json; do
		printf '%-7s %8s %8s %9s\n' "$n/$j" "$(median 2 $n/$j)" "$(median 3 $n/$j)" "$(median 4 $n/$j)"
	done
done
echo "ratio of the medians: wall, processor"
for j in 1 2; do
	for n in scan bot json; do
		echo "rg/$n/$j $(median 2 rg/$j) $(median 2 $n/$j) $(median 3 rg/$j) $(median 3 $n/$j)" |
			awk '{printf "%-9s %7.2f %8.2f\n", $1, $2 / ($3 > 0 ? $3 : 0.01), $4 / ($5 > 0 ? $5 : 0.01)}'
	done
done
