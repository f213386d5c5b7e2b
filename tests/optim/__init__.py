"""Optimizers and schedules: the steps and the rates of PyTorch, setting by setting."""
