"""torchrun for a PyTorch that was built without libuv, as Debian 13's is.

The launcher itself is untouched: only the TCPStore it creates is told not to ask for libuv. On the host that AGENT_LATE
names it also says that its workers have ended and asks only two seconds later whether the others' have: by then the node
that keeps the store may have left, as now and then happens by itself.
"""
import functools
import os
import socket
import sys
import time

import torch.distributed as dist

dist.TCPStore = functools.partial(dist.TCPStore, use_libuv=False)

from torch.distributed.elastic.utils import store  # noqa: E402  (must come after the replacement)
from torch.distributed.run import main  # noqa: E402  (must come after the replacement)

if os.environ.get("AGENT_LATE") == socket.gethostname():
    checked_in = store._barrier_nonblocking

    def late(*args, **kwargs):
        key = checked_in(*args, **kwargs)
        time.sleep(2)
        return key

    store._barrier_nonblocking = late

sys.exit(main())
