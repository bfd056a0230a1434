"""A small data-parallel training under PyTorch's profiler, in which one rank may be slow.

It is written as a user writes such a script: nothing in it knows how its trace will be read.
"""
import argparse
import os
import sys
import time

import torch
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.profiler import ProfilerActivity, profile, record_function, schedule
from torch.utils.data import DataLoader, Dataset

from train import connect

STEPS = 8


class Samples(Dataset):
    """Random samples that may take their time."""

    def __init__(self, seconds):
        self.seconds = seconds

    def __len__(self):
        return 4 * STEPS

    def __getitem__(self, index):
        time.sleep(self.seconds / 4)
        return torch.randn(64, generator=torch.Generator().manual_seed(index))


def train(args):
    rank, world = connect(args.timeout)
    print(f"Initializing distributed: GLOBAL_RANK: {rank}, MEMBER: {rank + 1}/{world}", flush=True)
    slow = rank == args.rank
    torch.manual_seed(0)
    model = DistributedDataParallel(nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 1)))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    loader = DataLoader(Samples(args.seconds if slow and args.mode == "loader" else 0.0), batch_size=4)
    os.makedirs(args.traces, exist_ok=True)

    def done(prof):
        prof.export_chrome_trace(os.path.join(args.traces, f"trace_rank{rank}.json"))

    with profile(activities=[ProfilerActivity.CPU], schedule=schedule(wait=0, warmup=1, active=STEPS - 2, repeat=1), on_trace_ready=done) as prof:
        for step, batch in enumerate(loader, start=1):
            with record_function("forward"):
                if slow and args.mode == "compute":
                    time.sleep(args.seconds)
                loss = model(batch).pow(2).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            if rank == 0:
                print(f"step {step}/{STEPS} loss {loss.item():.4f}", flush=True)
            prof.step()
    torch.distributed.barrier()
    torch.distributed.destroy_process_group()
    if rank == 0:
        print("training finished", flush=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--mode", choices=("healthy", "compute", "loader"), default="healthy")
    parser.add_argument("--rank", type=int, default=-1, help="the slow rank")
    parser.add_argument("--seconds", type=float, default=0.5, help="how much slower it is, for each step")
    parser.add_argument("--timeout", type=float, default=30, help="of collectives, in seconds")
    parser.add_argument("--traces", required=True)
    train(parser.parse_args())


if __name__ == "__main__":
    sys.exit(main())
