"""A small data-parallel training that fails in one chosen way.

It is written as a user writes such a script: nothing in it knows how its log will be read. It runs under torchrun's
environment variables, whoever sets them.
"""
import argparse
import datetime
import os
import signal
import sys
import time

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, Dataset, get_worker_info

STEPS = 8
FAIL_AT = 4


class Samples(Dataset):
    """Random samples; one loader worker of one rank may die on the way."""

    def __init__(self, length, dies_at):
        self.length = length
        self.dies_at = dies_at

    def __len__(self):
        return self.length

    def __getitem__(self, index):
        if self.dies_at is not None and index >= self.dies_at and get_worker_info() is not None:
            # The batch before must have arrived: its tensors travel by a socket of this process, and a trainer that is
            # still fetching them would see a reset connection instead of a dead worker.
            time.sleep(1)
            os.kill(os.getpid(), signal.SIGKILL)
        generator = torch.Generator().manual_seed(index)
        return torch.randn(8, generator=generator)


def connect(seconds):
    """Join the job over Gloo. The store is made by hand where the default asks for a libuv that is not built in."""
    rank, world = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
    timeout = datetime.timedelta(seconds=seconds)
    under_agent = os.environ.get("TORCHELASTIC_USE_AGENT_STORE") == "True"
    patience = datetime.timedelta(seconds=200)
    store = dist.TCPStore(
        os.environ["MASTER_ADDR"],
        int(os.environ["MASTER_PORT"]),
        world,
        is_master=rank == 0 and not under_agent,
        timeout=patience,
        **({} if torch.__version__.startswith("1.") else {"use_libuv": False}),
    )
    attempt = os.environ.get("TORCHELASTIC_RESTART_COUNT", "0")
    store = dist.PrefixStore("/worker/attempt_" + attempt, store)
    # Loading PyTorch may take one of them longer than the others wait for it in a collective.
    store.set(f"here/{rank}", "1")
    store.wait([f"here/{r}" for r in range(world)], patience)
    dist.init_process_group("gloo", store=store, rank=rank, world_size=world, timeout=timeout)
    return rank, world


def train(args):
    rank, world = connect(args.timeout)
    print(f"Initializing distributed: GLOBAL_RANK: {rank}, MEMBER: {rank + 1}/{world}", flush=True)
    if rank == 0:
        print(f"pytorch {torch.__version__} | backend gloo | world size {world}", flush=True)
    guilty = rank == args.rank
    torch.manual_seed(0)
    model = DistributedDataParallel(nn.Linear(8, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)

    steps = STEPS - 3 if args.mode == "uneven" and guilty else STEPS
    workers = 2 if args.mode == "loader" else 0
    dies_at = 4 * FAIL_AT if args.mode == "loader" and guilty else None
    loader = DataLoader(Samples(4 * steps, dies_at), batch_size=4, num_workers=workers)

    for step, batch in enumerate(loader, start=1):
        if step == FAIL_AT and guilty:
            misbehave(args.mode)
        if step == FAIL_AT and args.mode == "barrier" and not guilty:
            dist.monitored_barrier(timeout=datetime.timedelta(seconds=args.timeout), wait_all_ranks=True)
        if step == FAIL_AT and args.mode == "mismatch" and guilty:
            parts = [torch.zeros(4) for _ in range(world)]
            dist.all_gather(parts, torch.ones(4))
        elif step == FAIL_AT and args.mode == "mismatch":
            dist.all_reduce(torch.ones(4))
        loss = model(batch).pow(2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if rank == 0:
            print(f"step {step}/{STEPS} loss {loss.item():.4f}", flush=True)
    dist.barrier()
    dist.destroy_process_group()
    if rank == 0:
        print("training finished", flush=True)


def misbehave(mode):
    if mode == "exception":
        raise ValueError("sample 1742 has 0 tokens after filtering")
    if mode == "sigkill":
        os.kill(os.getpid(), signal.SIGKILL)
    if mode in ("stall", "barrier"):
        time.sleep(3600)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--mode", default="healthy")
    parser.add_argument("--rank", type=int, default=-1, help="the rank that misbehaves")
    parser.add_argument("--timeout", type=float, default=6, help="of collectives, in seconds")
    train(parser.parse_args())


if __name__ == "__main__":
    sys.exit(main())
