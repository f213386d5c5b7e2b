"""Base: errors and their hints, dtypes, the trace, settings, memory: what every other floor may use."""
