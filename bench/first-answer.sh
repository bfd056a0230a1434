#!/bin/sh
# Measures how long it takes from nothing to the first right answer on a cluster, by docs/slurm.md: build, configure as the page
# says, ask the doctor, let a job fail, ask about it. Packages are there: Go, SLURM's commands, a shell.
#
#   bench/first-answer.sh LOGS     a directory on all nodes; SLURM_CONF and the like come from the environment
#
# SUBMIT is put before sbatch, to submit as somebody else. COLD=1 builds without Go's build cache, as a new machine does.
# It fails where the answer is wrong, or later than 300 s.
set -eu
logs=$1
root=$(cd "$(dirname "$0")/.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
begun=$(date +%s)
last=$begun
step() {
	now=$(date +%s)
	printf '%4d s  %s\n' $((now - last)) "$1"
	last=$now
}
fail() {
	echo "first-answer: $1" >&2
	cat "$work/out" >&2
	exit 1
}

[ -z "${COLD:-}" ] || export GOCACHE="$work/cache"
(cd "$root" && go build -o "$work/bot" ./cmd/bot)
step "built"

# The first configuration of the page, with this cluster's directory in place of the page's.
awk '/^```yaml/ {on = 1; next} /^```/ {if (on) exit} on' "$root/docs/slurm.md" | sed "s|roots: .*|roots: [$logs]}|" >"$work/faultline.yaml"
"$work/bot" doctor --config "$work/faultline.yaml" >"$work/out" 2>&1 || fail "the doctor finds a fault"
grep -q '^OK    slurm' "$work/out" || fail "the doctor does not say that SLURM answers"
step "configured, the doctor is content"

cat >"$logs/first.sh" <<'EOF'
#!/bin/bash
mkdir -p logs
srun --output=logs/out-%j-%n.log --error=logs/err-%j-%n.log bash -c '
echo "[rank$SLURM_PROCID] step 1 loss 2.0"
[ "$SLURM_PROCID" != 1 ] || { sleep 1; echo "[rank1]: Traceback (most recent call last):
[rank1]:   File \"train.py\", line 7, in <module>
[rank1]: ValueError: the vocabulary has 7 tokens" >&2; exit 1; }
sleep 1'
EOF
id=$(cd "$logs" && ${SUBMIT:-} sbatch --parsable -N2 --ntasks-per-node=1 first.sh)
id=${id%%;*}
while squeue -h -j "$id" 2>/dev/null | grep -q .; do sleep 1; done
step "job $id failed"

"$work/bot" diagnose --config "$work/faultline.yaml" --job "$id" >"$work/out" 2>&1 || fail "no verdict"
grep -q 'ValueError: the vocabulary has 7 tokens' "$work/out" || fail "the answer does not name the failure"
grep -q '^Missing *Nothing' "$work/out" || fail "not every log was found"
step "answered"

total=$((last - begun))
printf '%4d s  from nothing to the first right answer\n' "$total"
[ "$total" -le 300 ] || fail "that is more than 300 s"
