# One task of it runs on each node. It reads only, needs no root, and gives every tool a time limit. What cannot be had is listed.
umask 077; LC_ALL=C; export LC_ALL
n=${SLURMD_NODENAME:-$(hostname -s)}; d=$(mktemp -d) || exit 1; mkdir "$d/$n"; cd "$d/$n" || exit 1
list=collected-$n.txt; echo "faultline collect 1 job=$job node=$n" > "$list"
miss() { grep -qxF "missing $1: $2" "$list" || echo "missing $1: $2" | tr -d "\r" >> "$list"; }
own() { cat "/proc/$1/environ" 2> /dev/null | tr "\0" "\n" | grep -E "^($2)="; }
run() { # FILE SECONDS COMMAND...
  local f=$1 s=$2 c; shift 2
  command -v "$1" > /dev/null 2>&1 || { miss "$1" "not installed"; return 1; }
  timeout -k 2 "$s" "$@" > out 2> err; c=$?
  if [ $c = 0 ] && [ -s out ]; then cat out >> "$f"; rm -f out err; return 0; fi
  miss "$*" "exit $c $(head -c 200 err | tr "\n" " ")"; rm -f out err; return 1
}
# The processes of the job, not of this step: those that have no parent with the same rank come first, then their loaders.
first= then=
for p in $(grep -lsz "^SLURM_JOB_ID=$job\$" /proc/[0-9]*/environ 2> /dev/null | cut -d/ -f3 | sort -n); do
  e=$(own "$p" "RANK|SLURM_PROCID|SLURM_STEP_ID")
  case $e in *SLURM_STEP_ID=${SLURM_STEP_ID:-none}*) [ "$(own "$p" SLURM_STEP_ID)" = "SLURM_STEP_ID=${SLURM_STEP_ID:-none}" ] && continue ;; esac
  case $e in *RANK=* | *SLURM_STEP_ID=*) ;; *) continue ;; esac
  up=$(sed -n "s/^PPid:[[:space:]]*//p" "/proc/$p/status" 2> /dev/null)
  case " $first $then " in *" ${up:-none} "*) [ "$(own "$up" "RANK|SLURM_PROCID")" = "$(own "$p" "RANK|SLURM_PROCID")" ] && { then="$then $p"; continue; } ;; esac
  first="$first $p"
done
[ -n "$first$then" ] || miss processes "none of job $job is seen on this node"
# Twice, into the same files: what moves on can be told from what does not.
sample() {
  until=$((SECONDS + most))
  for p in $first $then; do
    [ $SECONDS -lt "$until" ] || { miss "stacks of process $p" "no time left"; continue; }
    [ -d "/proc/$p" ] || continue
    head="==== host=$n pid=$p ===="; who=$(own "$p" "RANK|LOCAL_RANK|SLURM_PROCID")
    spy=$(command -v py-spy || ls "$(dirname "$(readlink "/proc/$p/exe" 2> /dev/null)" 2> /dev/null)/py-spy" 2> /dev/null)
    if [ -n "$spy" ] && readlink "/proc/$p/exe" 2> /dev/null | grep -q python; then
      if timeout -k 2 10 "$spy" dump --pid "$p" > out 2> err; then { echo "$head"; echo "$who"; cat out; echo; } >> "stacks-$n.txt"; spied=1
      else miss "py-spy dump --pid $p" "$(head -c 200 err | tr "\n" " ")"; fi
      rm -f out err
    fi
    if s=$(cat "/proc/$p/stack" 2> /dev/null) && [ -n "$s" ]; then { echo "$head"; echo "$who"; echo "/proc/$p/stack"; echo "$s"; echo; } >> "kernel-stacks-$n.txt"
    else kernel=1; fi
  done
  # NCCL tells by itself from 2.24 on, at a port of the loopback.
  at=$(for p in $first; do own "$p" NCCL_RAS_ADDR | cut -d= -f2-; done | head -n 1); at=${at:-localhost:28028}
  if command -v ncclras > /dev/null 2>&1; then run "ras-$n.txt" 20 ncclras -h "${at%:*}" -p "${at##*:}" -v
  elif timeout -k 2 20 bash -c "exec 3<> /dev/tcp/${at%:*}/${at##*:} && printf \"CLIENT PROTOCOL 2\nVERBOSE STATUS\n\" >&3 && cat <&3" > out 2> /dev/null && [ -s out ]; then grep -v "^SERVER PROTOCOL" out >> "ras-$n.txt"
  else miss "NCCL RAS" "nobody answers at $at"; fi
  rm -f out
  for c in "perfquery -x" "ip -s link"; do f=$(echo $c | cut -d" " -f1 | sed s/^ip/ip-link/)-$n.txt; command -v "${c%% *}" > /dev/null 2>&1 && date >> "$f"; run "$f" 10 $c; done
  for i in $(ls /sys/class/net 2> /dev/null); do case $i in lo | docker* | veth*) ;; *) command -v ethtool > /dev/null 2>&1 && date >> "ethtool-$i-$n.txt"; run "ethtool-$i-$n.txt" 5 ethtool -S "$i" ;; esac; done
}
SECONDS=0 spied=0
sample
[ $spied = 1 ] || command -v py-spy > /dev/null 2>&1 || miss py-spy "not installed"
[ -z "${kernel:-}" ] || miss "/proc/PID/stack" "only root may read it"
for p in $first; do echo "process pid=$p $(own "$p" "RANK|LOCAL_RANK|SLURM_PROCID" | tr "\n" " ")" >> "$list"; done
all=$(echo $first $then | tr " " ",")
[ -z "$all" ] || run "processes-$n.txt" 5 ps -o pid,ppid,stat,wchan:32,etime,comm -p "$all"
# Dumps of flight recorders: where the processes were told to write them, and where PyTorch does unless told.
for f in $(for p in $first; do own "$p" "TORCH_NCCL_DEBUG_INFO_TEMP_FILE|TORCH_FR_DUMP_TEMP_FILE" | cut -d= -f2-; done | sort -u) /tmp/nccl_trace_rank_ ~/.cache/torch/nccl_trace_rank_ ~/.cache/torch/comm_lib_trace_rank_; do
  for g in "$f"[0-9]*; do
    [ -f "$g" ] && [ -r "$g" ] && [ -O "$g" ] || continue
    if [ "$(stat -c %s "$g")" -le 67108864 ]; then mkdir -p dumps; cp -p "$g" dumps/; else miss "$g" "larger than 64 MiB"; fi
  done
done
[ -d dumps ] || miss "dumps of flight recorders" "none lies on this node"
run "nvidia-smi-$n.txt" 20 nvidia-smi -q
run "dmesg-$n.txt" 10 dmesg -T || run "dmesg-$n.txt" 10 journalctl -k -n 20000 --no-pager -o short-iso
run "ibstat-$n.txt" 10 ibstat
left=$((between - SECONDS)); [ $left -le 0 ] || sleep $left
sample
if tar -czf "$out/$n.tar.gz.part" -C "$d" "$n" && mv "$out/$n.tar.gz.part" "$out/$n.tar.gz"; then rm -rf "$d"; echo "$n: done" >&2
else echo "$n: $out cannot be written there; it lies in $d on $n" >&2; exit 1; fi
