"""Every argument that may be left out is heeded: the tables that show it, and the test that none is missing."""
