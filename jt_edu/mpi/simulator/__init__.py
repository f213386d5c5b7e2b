"""Simulator: ranks that are threads of one process: who runs, what is under way, where ranks meet, what goes wrong."""
