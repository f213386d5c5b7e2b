"""Runtime: a plan for a graph, and the plan is run."""
