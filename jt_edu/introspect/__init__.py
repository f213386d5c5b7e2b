"""Introspect: what a graph will do, and why, in words: explain, fusion report, walk."""
