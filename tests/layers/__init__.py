"""Layers against PyTorch: the same state, the same inputs, the same outputs, gradients and buffers afterwards."""
