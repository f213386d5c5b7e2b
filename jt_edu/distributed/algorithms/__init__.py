"""Algorithms: PyTorch's place for `ddp_comm_hooks`. This file is a door."""

from jt_edu.distributed.algorithms import ddp_comm_hooks

__all__ = ["ddp_comm_hooks"]
