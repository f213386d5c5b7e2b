"""Graph convolution: who sides with whom in a club that falls apart, from two labels and the friendships.

Source: Zachary 1977, "An Information Flow Model for Conflict and Fission in Small Groups"; Kipf & Welling 2017,
"Semi-Supervised Classification with Graph Convolutional Networks" (arXiv:1609.02907).
"""

import numpy as np
import pytest

import jt_edu as jt

FRIENDS = """1-2 1-3 1-4 1-5 1-6 1-7 1-8 1-9 1-11 1-12 1-13 1-14 1-18 1-20 1-22 1-32 2-3 2-4 2-8 2-14 2-18 2-20 2-22
2-31 3-4 3-8 3-9 3-10 3-14 3-28 3-29 3-33 4-8 4-13 4-14 5-7 5-11 6-7 6-11 6-17 7-17 9-31 9-33 9-34 10-34 14-34 15-33
15-34 16-33 16-34 19-33 19-34 20-34 21-33 21-34 23-33 23-34 24-26 24-28 24-30 24-33 24-34 25-26 25-28 25-32 26-32 27-30
27-34 28-34 29-32 29-34 30-33 30-34 31-33 31-34 32-33 32-34 33-34"""
SIDE_OF_1 = "1 2 3 4 5 6 7 8 9 11 12 13 14 17 18 20 22"  # the other members sided with 34


def club():
    """(34, 34), 1 for each pair of friends; and for each member 0 who sided with 1, 1 who sided with 34."""
    pairs = np.array([[int(k) - 1 for k in pair.split("-")] for pair in FRIENDS.split()]).T
    both, side = np.concatenate([pairs, pairs[::-1]], 1), np.ones(34, int)
    side[[int(k) - 1 for k in SIDE_OF_1.split()]] = 0
    return jt.sparse_coo_tensor(both, np.ones(both.shape[1], "float32"), (34, 34)), side


def averages(a):
    """D^-1/2 (A + I) D^-1/2: each member's numbers become a mean of those of friends."""
    n = a.shape[0]
    with_self = a + jt.sparse_coo_tensor([range(n), range(n)], np.ones(n, "float32"))
    scale = with_self.sum(1).to_dense() ** -0.5
    return (scale.reshape(n, 1) * with_self * scale).to_sparse_csr()


class GraphConvolution(jt.nn.Module):
    """Two layers of friends' means: A relu(A X W) V; X is the identity, as nothing is known of a member alone."""

    def __init__(self, a, width, classes):
        self.a = a
        self.w, self.v = jt.init.xavier_uniform((a.shape[0], width)), jt.init.xavier_uniform((width, classes))

    def execute(self):
        return self.a @ (jt.relu(self.a @ self.w) @ self.v)


@pytest.mark.parametrize("layout", ["to_sparse_coo", "to_sparse_csr"])
def test_two_labels_and_the_friendships_tell_the_side_of_nearly_everybody(layout):
    jt.set_global_seed(0)
    friends, side = club()
    net = GraphConvolution(getattr(averages(friends), layout)(), 8, 2)
    optimizer, known, losses = jt.optim.Adam(net.parameters(), 0.02), [0, 33], []

    for _ in range(100):
        loss = jt.nn.cross_entropy_loss(net()[known], jt.array(side[known]))
        optimizer.step(loss)
        losses.append(loss.item())

    assert friends.nnz == 156 and losses[-1] < 0.1 * losses[0]
    assert (net().numpy().argmax(1) == side).mean() > 0.9
