"""Base: the words of message passing: constants, reductions, datatypes, buffers, errors, and what to try."""
