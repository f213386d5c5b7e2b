"""Hooks for `register_comm_hook`, where PyTorch has them. They stand in comm_hooks.py and power_sgd.py; this is a door.

from jt_edu.distributed.algorithms.ddp_comm_hooks import default_hooks, powerSGD_hook

net.register_comm_hook(None, default_hooks.fp16_compress_hook)
net.register_comm_hook(powerSGD_hook.PowerSGDState(), powerSGD_hook.powerSGD_hook)
"""

import sys

from jt_edu.distributed import comm_hooks as default_hooks
from jt_edu.distributed import power_sgd as powerSGD_hook  # noqa: N812 - PyTorch's name

__all__ = ["default_hooks", "powerSGD_hook"]

for _name in __all__:  # so that `import ...ddp_comm_hooks.default_hooks` finds them too
    sys.modules[f"{__name__}.{_name}"] = globals()[_name]
