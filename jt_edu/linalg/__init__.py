"""linalg: linear algebra of matrices and of batches of them, with gradients. This file is a door: names only."""
