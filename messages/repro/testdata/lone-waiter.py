#!/usr/bin/env python3
"""lone-waiter, small. One rank makes one extra call and waits alone.

Written by "bot repro".

Run:    torchrun --nproc-per-node=4 repro.py > repro.log 2>&1
Then:   bot diagnose --world-size 4 repro.log
"""
import argparse
import datetime
import os
import sys
import time

# Before torch is imported, which reads them.

import torch
import torch.distributed as dist

BACKEND = "gloo"
WORLD = 4
GROUPS = []  # of global ranks; none: all ranks
CULPRIT = 0
STEPS = 3  # that go well


def ones(n, dtype, device):
    return torch.ones(n, dtype=dtype, device=device)


def broadcast(group, ranks, n, dtype, device):
    dist.broadcast(ones(n, dtype, device), ranks[0], group=group)


def usual(group, ranks, device):
    broadcast(group, ranks, 5, torch.float32, device)
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
        usual(group, ranks, device)  # the others never make this call
    else:
        time.sleep(10 * args.timeout)
    say("the fault did not show")
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
