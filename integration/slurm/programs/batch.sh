#!/bin/bash
# A job as users write it: one file per node from srun, and what SLURM says of it in the batch script's own.
#
#   sbatch -o slurm-%j.out batch.sh [srun's arguments --] MODE [ARG] [then MODE [ARG]]…
#
# What stands after each "then" is what the next run does: a requeued job counts its restarts. Of an array the elements with
# even numbers do nothing wrong.
srun=()
case " $* " in
*" -- "*)
	while [ "$1" != -- ]; do
		srun+=("$1")
		shift
	done
	shift
	;;
esac
for _ in $(seq 1 "${SLURM_RESTART_COUNT:-0}"); do
	case " $* " in *" then "*) ;; *) break ;; esac
	while [ "$1" != then ]; do shift; done
	shift
done
mode=()
for a in "$@"; do
	[ "$a" != then ] || break
	mode+=("$a")
done
id=%j
if [ -n "${SLURM_ARRAY_TASK_ID:-}" ]; then
	id=%A_%a
	[ $((SLURM_ARRAY_TASK_ID % 2)) = 1 ] || mode=(ok)
fi
echo "run ${SLURM_RESTART_COUNT:-0} of job $SLURM_JOB_ID on $SLURM_JOB_NODELIST"
srun "${srun[@]}" --output="slurm-$id-%n.out" --error="error-$id-%n.out" "$PROGRAMS/train.sh" "${mode[@]}"
