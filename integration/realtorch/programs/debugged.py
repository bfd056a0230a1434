"""A small data-parallel training that goes wrong in its model or in the order of its collectives, as TORCH_DISTRIBUTED_DEBUG shows it.

It is written as a user writes such a script: nothing in it knows how its log will be read.
"""
import argparse
import sys
import time

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.checkpoint import checkpoint

from train import connect

STEPS = 24
BRANCH_AT = 4


class Net(nn.Module):
    """A body with a head, and a second head that not every batch needs."""

    def __init__(self, mode):
        super().__init__()
        self.mode = mode
        self.stem = nn.Linear(8, 8)
        self.body = nn.Linear(8, 8)
        self.head = nn.Linear(8, 1)
        self.aux = nn.Linear(8, 1)
        self.slow = 0.0

    def forward(self, x, aux):
        time.sleep(self.slow)
        x = self.stem(x)
        if self.mode == "twice":
            x = checkpoint(self.body, x)
            x = checkpoint(self.body, x)
        else:
            x = self.body(x)
        out = self.head(x)
        return out + self.aux(x) if aux else out


def train(args):
    rank, world = connect(args.timeout)
    print(f"Initializing distributed: GLOBAL_RANK: {rank}, MEMBER: {rank + 1}/{world}", flush=True)
    odd = rank == args.rank
    torch.manual_seed(0)
    net = Net(args.mode)
    model = DistributedDataParallel(net, find_unused_parameters=args.mode == "found", static_graph=args.mode == "static")
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    if args.mode == "slow" and odd:
        net.slow = 0.2
    for step in range(1, STEPS + 1):
        x = torch.randn(4, 8)
        aux = args.mode != "unused"
        if args.mode == "branch" and odd and step >= BRANCH_AT:
            aux = False
        if args.mode == "static":
            aux = step < BRANCH_AT
        if args.mode == "late":
            aux = step > BRANCH_AT
        loss = model(x, aux).pow(2).mean()
        if args.mode == "conditional" and step == BRANCH_AT:
            log(loss, odd)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if rank == 0:
            print(f"step {step}/{STEPS} loss {loss.item():.4f}", flush=True)
    dist.barrier()
    dist.destroy_process_group()
    if rank == 0:
        print("training finished", flush=True)


def log(loss, odd):
    """The mean over the ranks, and of one rank something more."""
    if odd:
        parts = [torch.zeros(()) for _ in range(dist.get_world_size())]
        dist.all_gather(parts, loss.detach())
    dist.all_reduce(loss.detach())


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--mode", choices=("unused", "branch", "twice", "static", "late", "found", "slow", "conditional"), required=True)
    parser.add_argument("--rank", type=int, default=-1, help="the rank that goes its own way")
    parser.add_argument("--timeout", type=float, default=6, help="of collectives, in seconds")
    train(parser.parse_args())


if __name__ == "__main__":
    sys.exit(main())
