"""A small data-parallel training that becomes slower half-way: by a neighbour on one rank's processor, a slow loader of one rank, or slow saves.

It is written as a user writes such a loop: every rank prints what its steps took, by phase, and nothing in it knows how that will be read.
"""
import argparse
import logging
import os
import signal
import sys
import time

import torch
import torch.distributed as dist
from torch import nn

from train import connect

SAVES = 6  # one in so many steps


class Clock:
    """Times of the phases of one step, in milliseconds."""

    def __init__(self):
        self.parts, self.last = [], time.perf_counter()

    def done(self, name):
        now = time.perf_counter()
        self.parts.append((name, 1000 * (now - self.last)))
        self.last = now

    def __str__(self):
        return " | ".join(f"{name} {ms:.1f}ms" for name, ms in self.parts)


def neighbour(victim):
    """Takes nine tenths of a process's time, as other work on its core does, from the next signal on."""
    child = os.fork()
    if child:
        return child
    parent = os.getppid()
    signal.sigwait([signal.SIGUSR1])
    while os.getppid() == parent:
        os.kill(victim, signal.SIGSTOP)
        time.sleep(0.18)
        os.kill(victim, signal.SIGCONT)
        time.sleep(0.02)
    os._exit(0)


def train(args):
    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR1])
    rank, world = connect(30)
    logging.basicConfig(stream=sys.stdout, level=logging.INFO, format=f"%(asctime)s [rank {rank}] %(message)s")
    logging.info("Initializing distributed: GLOBAL_RANK: %d, MEMBER: %d/%d", rank, rank + 1, world)
    mine = rank == args.rank
    other = neighbour(os.getpid()) if mine and args.mode == "neighbour" else 0
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(256, 512), nn.ReLU(), nn.Linear(512, 256), nn.ReLU(), nn.Linear(256, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    for step in range(1, args.steps + 1):
        late = step > args.steps // 2
        if late and other:
            os.kill(other, signal.SIGUSR1)
        clock = Clock()
        batch = torch.randn(128, 256)
        time.sleep(0.6 if late and mine and args.mode == "loader" else 0.001)
        clock.done("data")
        loss = model(batch).pow(2).mean()
        clock.done("fwd")
        optimizer.zero_grad()
        loss.backward()
        clock.done("bwd")
        for p in model.parameters():
            dist.all_reduce(p.grad)
        clock.done("allreduce")
        optimizer.step()
        clock.done("opt")
        logging.info("step %d/%d | loss %.4f | %s", step, args.steps, loss.item(), clock)
        if step % SAVES == 0:
            save(rank, model, step, 1.5 if late and args.mode == "save" else 0.02)
    if other:
        os.kill(other, signal.SIGKILL)
    dist.barrier()
    dist.destroy_process_group()
    logging.info("training finished")


def save(rank, model, step, seconds):
    """Rank 0 writes, to a storage that takes its time, and the others wait."""
    if rank == 0:
        path = f"/tmp/slowed-{step}.pt"
        logging.info("Saving checkpoint to %s", path)
        torch.save(model.state_dict(), path)
        time.sleep(seconds)
        logging.info("Checkpoint saved to %s", path)
        os.remove(path)
    dist.barrier()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--mode", choices=("healthy", "neighbour", "loader", "save"), default="healthy")
    parser.add_argument("--rank", type=int, default=-1, help="the slow rank")
    parser.add_argument("--steps", type=int, default=48)
    train(parser.parse_args())


if __name__ == "__main__":
    sys.exit(main())
