"""Codegen: from fused loops to the Python text of a kernel, in steps that can each be looked at."""
