"""Run one scenario: several "nodes" on one machine, each with its own host name and its own log.

Runs inside the prepared system folder, in a network namespace of its own where the machine allows one, so that nothing
listens anywhere but on this loopback.

    drive.py --out DIR --launcher torchrun|tasks --nodes 2 --per-node 2 [--restarts N] [--env K=V]... -- train.py ARGS...
"""
import argparse
import ctypes
import fcntl
import os
import signal
import socket
import struct
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
CLONE_NEWUTS = 0x04000000
JOB = "4242"


def raise_loopback():
    """`ip link set lo up`, for systems without iproute2."""
    sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    request = struct.pack("16sh14x", b"lo", 1 | 64)  # IFF_UP | IFF_RUNNING
    try:
        fcntl.ioctl(sock, 0x8914, request)  # SIOCSIFFLAGS
    except OSError as err:
        print("loopback:", err, file=sys.stderr)


def free_port():
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        return str(sock.getsockname()[1])


def named_host(name):
    """A preexec function that gives the process and its children a host name of their own."""

    def enter():
        os.setsid()
        libc = ctypes.CDLL(None, use_errno=True)
        if libc.unshare(CLONE_NEWUTS) == 0:
            socket.sethostname(name)

    return enter


def commands(args):
    """(log name, host name, environment, argv) of every process that a cluster would start."""
    port = free_port()
    base = dict(os.environ)
    base.update(
        MASTER_ADDR="127.0.0.1",
        MASTER_PORT=port,
        GLOO_SOCKET_IFNAME="lo",
        TP_SOCKET_IFNAME="lo",
        OMP_NUM_THREADS="1",
        PYTHONUNBUFFERED="1",
        LC_ALL="C.UTF-8",
    )
    base.update(item.split("=", 1) for item in args.env)
    script = [os.path.join(HERE, args.command[0])] + args.command[1:]
    for node in range(args.nodes):
        host = f"node{node}"
        if args.launcher == "torchrun":
            argv = [sys.executable, os.path.join(HERE, "agent.py")]
            argv += [f"--nnodes={args.nodes}", f"--node-rank={node}", f"--nproc-per-node={args.per_node}"]
            argv += [f"--max-restarts={args.restarts}", "--master-addr=127.0.0.1", f"--master-port={port}"]
            yield f"slurm-{JOB}-{host}.out", host, base, argv + script
            continue
        for local in range(args.per_node):
            rank = node * args.per_node + local
            env = dict(base, RANK=str(rank), LOCAL_RANK=str(local), WORLD_SIZE=str(args.nodes * args.per_node))
            yield f"slurm-{JOB}-{host}-{rank}.out", host, env, [sys.executable] + script


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--out", required=True)
    parser.add_argument("--launcher", choices=("torchrun", "tasks"), default="torchrun")
    parser.add_argument("--nodes", type=int, default=2)
    parser.add_argument("--per-node", type=int, default=2)
    parser.add_argument("--restarts", type=int, default=0)
    parser.add_argument("--limit", type=float, default=300, help="seconds until everything is killed")
    parser.add_argument("--env", action="append", default=[])
    parser.add_argument("command", nargs=argparse.REMAINDER)
    args = parser.parse_args()
    if args.command[:1] == ["--"]:
        args.command = args.command[1:]

    raise_loopback()
    os.makedirs(args.out, exist_ok=True)
    running = []
    for log, host, env, argv in commands(args):
        with open(os.path.join(args.out, log), "wb") as out:
            running.append(
                subprocess.Popen(
                    argv, env=env, stdout=out, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL,
                    preexec_fn=named_host(host),
                )
            )
    deadline = time.monotonic() + args.limit
    # As `srun --kill-on-bad-exit` does: when a task has failed, the others get some seconds, then SIGTERM.
    failed_at = None
    while any(p.poll() is None for p in running) and time.monotonic() < deadline:
        if failed_at is None and any(p.poll() not in (None, 0) for p in running):
            failed_at = time.monotonic()
        if failed_at is not None and time.monotonic() > failed_at + 12:
            break
        time.sleep(0.05)
    for sig in (signal.SIGTERM, signal.SIGKILL):
        for process in running:
            if process.poll() is None:
                try:
                    os.killpg(process.pid, sig)
                except ProcessLookupError:
                    pass
        time.sleep(1.5 if any(p.poll() is None for p in running) else 0)
    print(" ".join(str(p.wait()) for p in running))


if __name__ == "__main__":
    main()
