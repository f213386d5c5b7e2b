"""IR: nodes of the lazy graph, the three meta-operators, index expressions, and the patterns that are found in them."""
