#!/bin/bash
# One task of a training job: prints what such a task prints, and one of them really dies.
#
#   train.sh MODE     ok · forever · stubborn · hang · exit N · raise · signal NAME · codes
#
# GUILTY is the rank that misbehaves, WORLD the number of ranks where SLURM counts only some of them.
set -u
mode=$1 arg=${2:-}
rank=$SLURM_PROCID world=${WORLD:-$SLURM_NTASKS} host=$SLURMD_NODENAME
guilty=${GUILTY:-5} # never a rank of node 0, whose file also holds SLURM's own lines

# Many tasks share a small machine: neither telling the time nor waiting starts a process.
say() {
	local now=$EPOCHREALTIME
	printf '[rank%d]: %(%F %T)T,%s - INFO - %s\n' "$rank" "${now%.*}" "${now:(-6):3}" "$*" >&2
}
exec {never}<> <(:)
pause() { read -rt "$1" -u "$never" _; }

ulimit -c 0
[ "$mode" != stubborn ] || trap '' TERM
echo "$host:$$:$$ [$SLURM_LOCALID] NCCL INFO ncclCommInitRank comm 0x55d0c0de0010 rank $rank nranks $world cudaDev $SLURM_LOCALID busId 1000 commId 0x5ca1ab1e - Init COMPLETE" >&2
say "world size $world, run ${SLURM_RESTART_COUNT:-0}"
# As in a real job nobody trains before everybody is there: else a slow machine has one done before another has begun.
key=$PROGRAMS/../ready/${PWD##*/}-${SLURM_ARRAY_TASK_ID:-}-${SLURM_RESTART_COUNT:-0}
: >"$key-$rank"
for _ in {1..600}; do
	there=("$key"-*)
	[ ${#there[@]} -lt "$world" ] || break
	pause 0.2
done
step=0
train() {
	local until=$((step + $1))
	while [ $step -lt $until ]; do
		step=$((step + 1))
		say "step $step/5000 | loss 2.$((900 - step % 800)) | lr 1.0e-04"
		pause 1
	done
}

train 3
[ "$mode" != codes ] || exit $((rank + 1))
if [ "$rank" = "$guilty" ]; then
	case $mode in
	exit) exit "$arg" ;;
	raise)
		printf '[rank%d]: %s\n' \
			"$rank" 'Traceback (most recent call last):' \
			"$rank" '  File "/opt/job/train.py", line 214, in <module>' \
			"$rank" '    main()' \
			"$rank" '  File "/opt/job/train.py", line 187, in main' \
			"$rank" '    loss = criterion(model(batch["x"]), batch["y"])' \
			"$rank" "KeyError: 'y'" >&2
		exit 1
		;;
	signal) kill -s "$arg" $$ ;;
	esac
fi
case $mode in
forever | stubborn) train 2000 ;;
hang) while :; do pause 600; done ;;
*) train 4 ;;
esac
say "done"
