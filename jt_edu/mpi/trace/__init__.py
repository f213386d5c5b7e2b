"""Trace: what was said, on which clock: the network of LogGP, the records of calls and messages, their export."""
