"""torchrun for a PyTorch that was built without libuv, as Debian 13's is.

The launcher itself is untouched: only the TCPStore it creates is told not to ask for libuv.
"""
import functools
import sys

import torch.distributed as dist

dist.TCPStore = functools.partial(dist.TCPStore, use_libuv=False)

from torch.distributed.run import main  # noqa: E402  (must come after the replacement)

sys.exit(main())
