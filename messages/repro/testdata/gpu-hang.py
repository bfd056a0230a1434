#!/usr/bin/env python3
"""gpu-hang, small. This program has no bug: it only repeats the collective. If it hangs too, the job's code isn't the cause.

Written by "bot repro".

On one node:    torchrun --nproc-per-node=8 repro.py
On suspected nodes, against one that is known to be good (N of them, the first is HEAD):
    srun --nodes=N --ntasks-per-node=1 -w NODES torchrun --nnodes=N --nproc-per-node=8 --rdzv-backend=c10d --rdzv-endpoint=HEAD:29500 --rdzv-id=repro repro.py
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
GROUP_SIZE = 2  # 0: all ranks


def ones(n, dtype, device):
    return torch.ones(n, dtype=dtype, device=device)


def all_gather_into_tensor(group, ranks, n, dtype, device):
    dist.all_gather_into_tensor(ones(n * len(ranks), dtype, device), ones(n, dtype, device), group=group)


def usual(group, ranks, device):
    all_gather_into_tensor(group, ranks, 1024, torch.float32, device)
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
    parser.add_argument("--timeout", type=float, default=120, help="of collectives, in seconds")
    parser.add_argument("--steps", type=int, default=10000)
    args = parser.parse_args()
    world = int(os.environ["WORLD_SIZE"])
    device = "cpu"
    if BACKEND == "nccl":
        device = torch.device("cuda", int(os.environ["LOCAL_RANK"]))
        torch.cuda.set_device(device)
    timeout = datetime.timedelta(seconds=args.timeout)
    dist.init_process_group(BACKEND, timeout=timeout)
    rank = dist.get_rank()
    say(f"PyTorch {torch.__version__}, {BACKEND}, world size {world}")
    groups = []
    if GROUP_SIZE and world % GROUP_SIZE == 0 and GROUP_SIZE < world:
        groups = [list(range(first, first + GROUP_SIZE)) for first in range(0, world, GROUP_SIZE)]
    group, ranks = own_group(groups, timeout)
    slowest = 0.0
    for step in range(1, args.steps + 1):
        start = time.monotonic()
        usual(group, ranks, device)
        if step > 1:  # the first one connects
            slowest = max(slowest, time.monotonic() - start)
        if step == 1 or step % 500 == 0:
            say(f"step {step}/{args.steps}, the slowest took {1000 * slowest:.1f} ms")
    say("it did not hang")
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
