"""Real ranks under mpirun. These tests need one: where there is none they are skipped, but in CI (.ci/run)."""
