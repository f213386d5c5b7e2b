"""Communicator: what one rank says to another, what all of them say together, and groups."""
