#!/bin/sh
# Compares ripgrep, with the 75 expressions of an expert (expert.regexes), with `bot diagnose` on each family of logs that package
# simulate/volume writes. The two run in turn, on all cores; the page cache is warm. Prints medians, worst family first: processor
# seconds and seconds by the clock of both, how many times slower ripgrep is by either, and the peak memory of diagnose. Machines with
# other work disturb processor time less.
#
#   bench/families.sh [FILES [SIZE [ROUNDS [FAMILY...]]]]      8 6250000 3, all families and mixed
#
# BOT is a command to measure instead of this tree's; TMPDIR should be in memory.
set -eu
cd "$(dirname "$0")/.."
files=${1:-8} size=${2:-6250000} rounds=${3:-3}
[ $# -le 3 ] && set -- || shift 3
command -v rg >/dev/null || { echo "ripgrep (rg) is not installed" >&2; exit 2; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
go build -o "$work/generate" ./bench/generate
[ -n "${BOT:-}" ] || { BOT=$work/bot; go build -o "$BOT" ./cmd/bot; }
[ $# -gt 0 ] || set -- $("$work/generate" -list)

# run NAME COMMAND...: a line "NAME processor wall peak-kB". The output goes to a file: some tools stop early on /dev/null.
run() {
	name=$1
	shift
	/usr/bin/time -o "$work/time" -f "%e %U %S %M" "$@" >"$work/out" 2>"$work/err" || true
	tail -n 1 "$work/time" | awk -v n="$name" '{printf "%s %.2f %.2f %d\n", n, $2 + $3, $1, $4}' >>"$work/rounds"
}
# median COLUMN NAME
median() { awk -v n="$2" -v c="$1" '$1 == n {print $c}' "$work/rounds" | sort -n | awk '{v[NR]=$1} END {print v[int((NR+1)/2)]}'; }

for family; do
	"$work/generate" -kind "$family" -files "$files" -size "$size" -out "$work/logs"
	cat "$work"/logs/* >/dev/null
	: >"$work/rounds"
	i=0
	while [ $i -lt "$rounds" ]; do
		run rg rg --no-unicode -a -n -b -j2 -f bench/expert.regexes "$work/logs"
		run bot "$BOT" diagnose "$work/logs"
		i=$((i + 1))
	done
	echo "$family $(median 2 rg) $(median 2 bot) $(median 3 rg) $(median 3 bot) $(median 4 bot)" >>"$work/table"
	rm -rf "$work/logs"
done
printf '%-17s %8s %8s %7s %8s %8s %7s %8s\n' family 'rg cpu' 'bot cpu' 'ratio' 'rg wall' 'bot wall' 'ratio' 'peak MiB'
awk '{printf "%-17s %8.2f %8.2f %7.2f %8.2f %8.2f %7.2f %8.0f\n", $1, $2, $3, $2 / ($3 > 0 ? $3 : 0.01), $4, $5, $4 / ($5 > 0 ? $5 : 0.01), $6 / 1024}' "$work/table" | sort -k4n
