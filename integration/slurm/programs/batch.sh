#!/bin/bash
# A job as users write it: one file per node from srun, and what SLURM says of it in the batch script's own.
#
#   sbatch -o slurm-%j.out batch.sh [srun's arguments --] MODE [ARG] [then MODE [ARG]]…
#
# What stands after each "then" is what the next run does: a requeued job counts its restarts.
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
echo "run ${SLURM_RESTART_COUNT:-0} of job $SLURM_JOB_ID on $SLURM_JOB_NODELIST"
srun "${srun[@]}" --output=slurm-%j-%n.out --error=error-%j-%n.out "$PROGRAMS/train.sh" "${mode[@]}"
