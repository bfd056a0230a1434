#!/usr/bin/env python3
"""rank-stalled, small. One rank sleeps while the other ranks wait for it in a collective, until their timeout.

Written by "bot repro". Rank 3 of the script plays rank 3 of the job. Rank 1 plays the end of the send/receive pair where the fault showed up.

Run:    torchrun --nproc-per-node=4 repro.py > repro.log 2>&1
Then:   bot diagnose --world-size 4 repro.log
"""
import argparse
import datetime
import os
import sys
import time

# Before torch is imported, which reads them.
os.environ.setdefault("TORCH_NCCL_TRACE_BUFFER_SIZE", "2000")  # the flight recorder
os.environ.setdefault("TORCH_NCCL_DUMP_ON_TIMEOUT", "1")

import torch
import torch.distributed as dist

BACKEND = "nccl"
WORLD = 4
GROUPS = [[0, 2], [1, 3]]  # of global ranks; none: all ranks
CULPRIT = 1
STEPS = 3  # that go well


def ones(n, dtype, device):
    return torch.ones(n, dtype=dtype, device=device)


def exchange(group, ranks, n, dtype, device):
    at = ranks.index(dist.get_rank())
    if at % 2 == 1:
        dist.recv(ones(n, dtype, device), ranks[at - 1], group=group)
    elif at + 1 < len(ranks):
        dist.send(ones(n, dtype, device), ranks[at + 1], group=group)


def usual(group, ranks, device):
    exchange(group, ranks, 1024, torch.float32, device)
    settle()


def settle():
    if BACKEND == "nccl":  # calls only queue their kernels
        torch.cuda.synchronize()


def say(text):
    print(f"[rank{dist.get_rank()}]: {text}", flush=True)


def own_group(groups, timeout):
    """Every rank makes all groups, in the same order."""
    mine = None, list(range(dist.get_world_size()))
    for ranks in groups:
        made = dist.new_group(ranks, timeout=timeout)
        if dist.get_rank() in ranks:
            mine = made, ranks
    return mine


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--timeout", type=float, default=30, help="of collectives, in seconds")
    args = parser.parse_args()
    world = int(os.environ["WORLD_SIZE"])
    if world != WORLD:
        sys.exit(f"run it with {WORLD} processes: torchrun --nproc-per-node={WORLD} {sys.argv[0]}")
    device = "cpu"
    if BACKEND == "nccl":
        device = torch.device("cuda", int(os.environ["LOCAL_RANK"]))
        torch.cuda.set_device(device)
    timeout = datetime.timedelta(seconds=args.timeout)
    dist.init_process_group(BACKEND, timeout=timeout)
    rank = dist.get_rank()
    say(f"PyTorch {torch.__version__}, {BACKEND}, world size {world}")
    group, ranks = own_group(GROUPS, timeout)
    for step in range(1, STEPS + 1):
        usual(group, ranks, device)
        say(f"step {step} done")
    if rank == CULPRIT:
        time.sleep(10 * args.timeout)
    usual(group, ranks, device)
    say("the fault did not show")
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
