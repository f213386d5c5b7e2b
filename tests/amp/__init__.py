"""Mixed precision: casts, scales of losses, and the levels of Apex."""
