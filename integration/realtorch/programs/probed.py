"""Runs the program of `bot probe` with something wrong on one rank, or uses it as a training script does.

    probed.py [--fault slow|bits|small|absent|shape] [--rank N] -- COMPONENT ARGS...
"""
import argparse
import os
import resource
import runpy
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))


def slow():
    """Much slower than the others."""
    import torch
    relu = torch.relu

    def late(x):
        time.sleep(0.7)
        return relu(x)

    torch.relu = late


def bits():
    """A unit that computes something else now and then."""
    import torch
    relu, calls = torch.relu, [0]

    def wrong(x):
        calls[0] += 1
        y = relu(x)
        return y + (1e-3 if calls[0] % 4 == 0 else 0)

    torch.relu = wrong


def small():
    """Less memory than the test asks for."""
    import torch  # what it takes itself is not counted
    torch.ones(1000, 1000) @ torch.ones(1000, 1000)
    used = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used + 400 * 2 ** 20,) * 2)


def absent():
    """A process that never comes to the meeting point."""
    time.sleep(1000)


def shape(rank, folder):
    """A training script that asks whether all ranks hold the same tensor before a collective."""
    import datetime
    import torch
    import torch.distributed as dist
    sys.path.insert(0, HERE)
    import probe
    os.environ["USE_LIBUV"] = "0"
    dist.init_process_group("gloo", timeout=datetime.timedelta(seconds=20))
    probe.same("weights", torch.zeros(4, 8))
    print("weights are the same", flush=True)
    model = torch.nn.Linear(4, 4)
    with torch.no_grad():
        for p in model.parameters():
            p.fill_(0.5)
        for step in range(6):
            for p in model.parameters():
                p.mul_(1.5)
            if step == 4 and dist.get_rank() == rank:
                model.weight[0, 0] += 1  # a unit that computes wrongly, once
            probe.record(step, loss=1 / (step + 1), model=model, folder=folder)
    probe.same("hidden", torch.zeros(4, 16 if dist.get_rank() == rank else 8))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--fault", default="")
    parser.add_argument("--folder", default=".", help="for what is recorded")
    parser.add_argument("--rank", type=int, default=2)
    parser.add_argument("probe", nargs=argparse.REMAINDER)
    args = parser.parse_args()
    if args.fault == "shape":
        return shape(args.rank, args.folder)
    if args.fault and int(os.environ["RANK"]) == args.rank:
        {"slow": slow, "bits": bits, "small": small, "absent": absent}[args.fault]()
    sys.argv = ["probe.py"] + [a for a in args.probe if a != "--"]
    runpy.run_path(os.path.join(HERE, "probe.py"), run_name="__main__")


if __name__ == "__main__":
    main()
