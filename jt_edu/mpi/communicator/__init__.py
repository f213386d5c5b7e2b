"""Communicator: a rank's communicator: one rank to another, all of them together, and groups."""
