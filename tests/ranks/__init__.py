"""Simulated ranks: messages, collectives, algorithms, virtual time, faults."""
