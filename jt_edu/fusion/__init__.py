"""Fusion: which nodes of a graph share one loop nest."""
