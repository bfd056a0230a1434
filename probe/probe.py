#!/usr/bin/env python3
"""Tests one component of a training job on every rank, without the others: compute, memory, data or communication.

Written by "bot probe". One process per GPU, started by srun or torchrun:
    srun --ntasks-per-node=8 --gpus-per-node=8 python3 probe.py compute > compute.txt
    bot probe compute.txt
Each rank prints one line. The exit code is 1 where the component failed on a rank; "bot probe" also names ranks that are slow.

In a training script, same() checks that all ranks of a group hold the same shape, type and placement before a collective, and record() writes
loss, gradient norm and a checksum of the parameters by step, for "bot diagnose --evidence 'metrics_rank*.csv'" to compare:
    import probe
    probe.same("hidden", tensor, group)
    probe.record(step, loss=loss, model=model)
"""
import argparse
import os
import re
import socket
import subprocess
import sys
import threading
import time


def number(*names, default=0):
    """The first of the variables that is set: torchrun's come before SLURM's."""
    for name in names:
        if os.environ.get(name, "").isdigit():
            return int(os.environ[name])
    return default


RANK = number("RANK", "SLURM_PROCID")
WORLD = number("WORLD_SIZE", "SLURM_NTASKS", default=1)
LOCAL = number("LOCAL_RANK", "SLURM_LOCALID")
NODE = os.environ.get("SLURMD_NODENAME") or socket.gethostname().split(".")[0]


class Failed(Exception):
    """The component did not work."""


def report(component, state, text):
    text = re.sub(r"\s+", " ", str(text))[:300]
    sys.stdout.write(f"probe {component}: rank {RANK} of {WORLD} on {NODE}: {state} {text}\n")
    sys.stdout.flush()


def device(args):
    """The torch module and this rank's device. A task that SLURM binds to one GPU sees it as the first."""
    import torch
    if args.cpu or not torch.cuda.is_available():
        if not args.cpu:
            raise Failed("no GPU is available to PyTorch (--cpu tests the processor)")
        return torch, torch.device("cpu")
    gpu = torch.device("cuda", LOCAL % torch.cuda.device_count())
    torch.cuda.set_device(gpu)
    return torch, gpu


def settle(torch, dev):
    if dev.type == "cuda":  # calls only queue their kernels
        torch.cuda.synchronize()


def compute(args):
    """Forward and backward of two layers, again and again: the same input must give the same bits."""
    torch, dev = device(args)
    width = args.width or (8192 if dev.type == "cuda" else 512)
    dtype = getattr(torch, args.dtype) if args.dtype else torch.bfloat16 if dev.type == "cuda" else torch.float32
    torch.manual_seed(1)
    x, a, b = (torch.randn(width, width, device=dev).mul_(width ** -0.5).to(dtype).requires_grad_(i > 0) for i in range(3))

    def step():
        a.grad = b.grad = None
        loss = (torch.relu(x @ a) @ b).float().square().mean()
        loss.backward()
        settle(torch, dev)
        return [float(loss.detach()), float(a.grad.double().sum()), float(b.grad.double().sum())]

    step()
    first = step()
    if not all(v == v and abs(v) != float("inf") for v in first):
        raise Failed(f"the loss or a gradient is not finite: {first}")
    times, end = [], time.monotonic() + args.seconds
    while time.monotonic() < end or len(times) < 3:
        start = time.monotonic()
        again = step()
        times.append(time.monotonic() - start)
        if again != first:
            raise Failed(f"step {len(times)} gave other results than the first, from the same input: {again} and {first}")
    times.sort()
    usual = times[len(times) // 2]
    text = f"slowest step {times[-1] / usual:.2f} times the median of {len(times)}"
    if args.dtype:
        text += f"; {args.dtype} {headroom(torch, x.detach(), a.detach(), b.detach())}"
    # 2·n³ for each product: two forward, and backward one for x@a's weight, two for the second layer.
    return 10 * width ** 3 / usual / 1e12, "TFLOP/s", text


def headroom(torch, x, a, b):
    """How much larger inputs may become before two layers overflow in their type."""
    for k in range(0, 128, 2):
        y = torch.relu((x * 2.0 ** k) @ a) @ b
        if not bool(torch.isfinite(y).all()):
            return f"overflows when inputs are 2^{k} times as large"
    return "doesn't overflow"


def memory(args):
    """Fills memory with a pattern, and reads it again."""
    torch, dev = device(args)
    if args.gb:
        want = int(args.gb * 1e9)
    elif dev.type == "cuda":
        want = int(0.9 * torch.cuda.mem_get_info()[0])
    else:
        want = 10 ** 9
    if args.held or args.then:
        return replay(args, torch, dev)
    block, held, start = 2 ** 28, [], time.monotonic()
    while sum(t.numel() for t in held) < want:
        size = min(block, want - sum(t.numel() for t in held))
        try:
            held.append(torch.full((size,), len(held) % 251, dtype=torch.uint8, device=dev))
        except RuntimeError as e:
            raise Failed(f"{sum(t.numel() for t in held) / 1e9:.1f} of {want / 1e9:.1f} GB could be allocated: {e}")
    for i, t in enumerate(held):
        wrong = int((t != i % 251).sum())
        if wrong:
            raise Failed(f"{wrong} bytes of block {i} read back wrong")
    settle(torch, dev)
    return 2 * want / (time.monotonic() - start) / 1e9, "GB/s", f"{want / 1e9:.1f} GB written and read"


def replay(args, torch, dev):
    """Allocates what the job held, and then what it could not have."""
    start, held, left = time.monotonic(), [], int(args.held * 2 ** 30)
    try:
        while left > 0:
            held.append(torch.zeros(min(left, 2 ** 28), dtype=torch.uint8, device=dev))
            left -= 2 ** 28
    except RuntimeError as e:
        raise Failed(f"{sum(t.numel() for t in held) / 2 ** 30:.2f} of the {args.held:g} GiB that the job held could be allocated: {e}")
    try:
        held.append(torch.zeros(int(args.then * 2 ** 30), dtype=torch.uint8, device=dev))
    except RuntimeError as e:
        raise Failed(f"{args.held:g} GiB fit, and {args.then:g} GiB more do not: {e}")
    settle(torch, dev)
    total = args.held + args.then
    return total * 2 ** 30 / (time.monotonic() - start) / 1e9, "GB/s", f"{args.held:g} GiB and {args.then:g} GiB more fit; not compared"


def data(args):
    """Reads files as the job would, or takes batches of its own loader."""
    if args.loader:
        module, _, name = args.loader.partition(":")
        sys.path.insert(0, os.getcwd())
        loader = getattr(__import__(module, fromlist=[name]), name)()
        waits, items, end, start = [], iter(loader), time.monotonic() + args.seconds, time.monotonic()
        while time.monotonic() < end:
            at = time.monotonic()
            try:
                next(items)
            except StopIteration:
                break
            waits.append(time.monotonic() - at)
        if not waits:
            raise Failed("the loader gave no batch")
        return len(waits) / (time.monotonic() - start), "batches/s", f"slowest batch {max(waits):.3f} s"
    files = [args.data] if os.path.isfile(args.data) else []
    for folder, _, names in [] if files else os.walk(args.data, onerror=fail):
        files += [os.path.join(folder, n) for n in sorted(names)]
        if len(files) > 100000:
            break
    if not files:
        raise Failed(f"no file in {args.data}")
    mine = files[RANK % len(files)::WORLD] or files
    total, slowest, read, start = 0, 0.0, 0, time.monotonic()
    for path in mine:
        at = time.monotonic()
        try:
            with open(path, "rb", buffering=0) as f:
                while chunk := f.read(2 ** 22):
                    total += len(chunk)
                    slowest = max(slowest, time.monotonic() - at)
                    at = time.monotonic()
        except OSError as e:
            raise Failed(f"{path}: {e.strerror}")
        read += 1
        if time.monotonic() - start > args.seconds:
            break
    took = time.monotonic() - start
    short = "" if took > 1 else "; not compared"
    return total / took / 1e6, "MB/s", f"{read} files, slowest read {slowest:.3f} s{short}"


def fail(e):
    raise Failed(f"{e.filename}: {e.strerror}")


def meet(args):
    """A process group of all ranks."""
    import torch.distributed as dist
    import datetime
    if "MASTER_ADDR" not in os.environ:
        first = "127.0.0.1"
        if nodes := os.environ.get("SLURM_JOB_NODELIST"):
            first = subprocess.run(["scontrol", "show", "hostnames", nodes], capture_output=True, text=True, check=True).stdout.split()[0]
        os.environ["MASTER_ADDR"] = first
    os.environ.setdefault("USE_LIBUV", "0")  # some builds lack it, and a store of few keys needs no speed
    os.environ.setdefault("MASTER_PORT", str(20000 + (number("SLURM_JOB_ID") + 77) % 10000))
    dist.init_process_group("gloo" if args.cpu else "nccl", rank=RANK, world_size=WORLD, timeout=datetime.timedelta(seconds=2 * args.timeout))
    return dist


def communication(args):
    """Who is there, and an all-reduce of several sizes whose sum is known."""
    torch, dev = device(args)
    dist = meet(args)
    mine = {"torch": torch.__version__, "nccl": ".".join(map(str, torch.cuda.nccl.version())) if dev.type == "cuda" else "-"}
    everyone = [None] * WORLD
    dist.all_gather_object(everyone, mine)
    for key in mine:
        if len({m[key] for m in everyone}) > 1:
            raise Failed(f"ranks differ in {key}: " + ", ".join(f"rank {r} {m[key]}" for r, m in list(enumerate(everyone))[:4]))
    rates = []
    for size in [2 ** 20, 2 ** 24, 2 ** 28] if dev.type == "cuda" else [2 ** 20, 2 ** 23]:
        times = []
        for i in range(args.rounds + 2):
            t = torch.full((size // 4,), float(RANK + 1), device=dev)
            settle(torch, dev)
            start = time.monotonic()
            dist.all_reduce(t)
            settle(torch, dev)
            if i > 1:  # the first ones connect
                times.append(time.monotonic() - start)
            if float(t.min()) != WORLD * (WORLD + 1) / 2 or float(t.max()) != float(t.min()):
                raise Failed(f"an all-reduce of {size >> 20} MiB gave a wrong sum")
        times.sort()
        rates.append(2 * (WORLD - 1) / WORLD * size / times[len(times) // 2] / 1e9)
        last = f"{size >> 20} MiB: slowest {times[-1] * 1000:.1f} ms of {len(times)}"
    dist.destroy_process_group()
    return rates[-1], "GB/s", ", ".join(f"{r:.2f}" for r in rates) + " GB/s by size; " + last


def same(name, tensor, group=None):
    """Raises on every rank of the group where a rank holds another shape, type or DTensor placement. It gathers objects: for debugging only."""
    import torch.distributed as dist
    placed = f" placed {tuple(tensor.placements)}" if hasattr(tensor, "placements") else ""
    mine = (dist.get_rank(), tuple(tensor.shape), str(tensor.dtype), tensor.device.type + placed)
    everyone = [None] * dist.get_world_size(group)
    dist.all_gather_object(everyone, mine, group=group)
    if len({m[1:] for m in everyone}) > 1:
        raise RuntimeError(f"{name} differs between ranks: " + "; ".join(f"rank {m[0]}: {list(m[1])} {m[2]} on {m[3]}" for m in everyone[:16]))


def record(step, loss=None, model=None, grad_norm=None, folder="."):
    """Adds a line to metrics_rankN.csv. Replicas that apply the same updates have the same checksum of their parameters."""
    path = os.path.join(folder, f"metrics_rank{RANK}.csv")
    fresh = not os.path.exists(path)
    total = ""
    if model is not None:
        total = repr(sum(float(p.detach().double().abs().sum()) for p in model.parameters()))
    with open(path, "a") as f:
        if fresh:
            f.write("step,loss,grad_norm,param_checksum\n")
        f.write(",".join([str(step)] + ["" if v is None else repr(float(v)) for v in (loss, grad_norm)] + [total]) + "\n")


COMPONENTS = {"compute": compute, "memory": memory, "data": data, "communication": communication}


def main():
    parser = argparse.ArgumentParser(description="Tests one component of a training job on every rank.")
    parser.add_argument("component", choices=COMPONENTS)
    parser.add_argument("--cpu", action="store_true", help="test the processor and Gloo instead of the GPU and NCCL")
    parser.add_argument("--seconds", type=float, default=10, help="how long to compute or read")
    parser.add_argument("--timeout", type=float, default=120, help="a rank that takes longer has failed, in seconds")
    parser.add_argument("--rounds", type=int, default=20, help="all-reduces of each size")
    parser.add_argument("--width", type=int, help="of a layer")
    parser.add_argument("--gb", type=float, help="memory to fill, in GB (default: 0.9 of what is free on the GPU)")
    parser.add_argument("--held", type=float, default=0, help="memory that the job held, in GiB: allocates it, and then --then")
    parser.add_argument("--then", type=float, default=0, help="memory that it could not allocate, in GiB")
    parser.add_argument("--dtype", choices=["bfloat16", "float16", "float32"], help="type to compute in")
    parser.add_argument("--data", default=".", help="a file or folder to read")
    parser.add_argument("--loader", help="module:function that returns the job's own loader")
    args = parser.parse_args()

    def late():
        report(args.component, "FAIL", f"it took longer than {args.timeout:g} s")
        os._exit(1)

    watch = threading.Timer(args.timeout, late)  # a signal's handler would wait for the call that hangs
    watch.daemon = True
    watch.start()
    try:
        rate, unit, text = COMPONENTS[args.component](args)
    except Exception as e:
        report(args.component, "FAIL", e if isinstance(e, Failed) else f"{type(e).__name__}: {e}")
        sys.stdout.flush()
        os._exit(1)  # a process group that hangs must not hold the end up
    report(args.component, "ok", f"{rate:.4g} {unit}; {text}")


if __name__ == "__main__":
    main()
