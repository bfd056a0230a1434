"""A small data-parallel training in which one rank stands still, and that Python's faulthandler looks at twice.

It is written as a user writes such a script: nothing in it knows how its stacks will be read.
"""
import argparse
import faulthandler
import io
import os
import sys
import threading
import time

import torch
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, Dataset

from train import connect

STEPS = 12
STOP_AT = 4
LOOK_EVERY = 4


class Samples(Dataset):
    """Random samples, one of which does not come."""

    def __init__(self, missing):
        self.missing = missing

    def __len__(self):
        return 4 * STEPS

    def __getitem__(self, index):
        if self.missing is not None and index >= self.missing:
            time.sleep(600)
        return torch.randn(64, generator=torch.Generator().manual_seed(index))


class Stuck(io.BytesIO):
    """A file on a disk that does not answer."""

    def write(self, data):
        time.sleep(600)
        return super().write(data)


def settle():
    """The rank's own work, which does not end."""
    time.sleep(600)


def train(args):
    rank, world = connect(args.timeout)
    print(f"Initializing distributed: GLOBAL_RANK: {rank}, MEMBER: {rank + 1}/{world}", flush=True)
    odd = rank == args.rank
    torch.manual_seed(0)
    model = DistributedDataParallel(nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 1)))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    missing = 4 * STOP_AT if odd and args.mode in ("queue", "inline") else None
    loader = DataLoader(Samples(missing), batch_size=4, num_workers=1 if args.mode == "queue" else 0)
    os.makedirs(args.stacks, exist_ok=True)
    with open(os.path.join(args.stacks, f"rank{rank}.txt"), "w", encoding="utf-8") as out:
        for step, batch in enumerate(loader, start=1):
            if step == STOP_AT:
                faulthandler.dump_traceback_later(LOOK_EVERY, repeat=True, file=out)
                threading.Timer(2.7 * LOOK_EVERY, os._exit, (0,)).start()
            loss = model(batch).pow(2).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            if step == STOP_AT and args.mode == "save":
                if odd:
                    torch.save(model.state_dict(), Stuck())
                torch.distributed.barrier()
            if step == STOP_AT and args.mode == "own" and odd:
                settle()
            if rank == 0:
                print(f"step {step}/{STEPS} loss {loss.item():.4f}", flush=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--mode", choices=("queue", "inline", "save", "own"), required=True)
    parser.add_argument("--rank", type=int, default=-1, help="the rank that stands still")
    parser.add_argument("--timeout", type=float, default=60, help="of collectives, in seconds")
    parser.add_argument("--stacks", required=True)
    train(parser.parse_args())


if __name__ == "__main__":
    sys.exit(main())
