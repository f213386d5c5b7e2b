"""Net_jax: the same step of training in JAX, with `jax.jit`. As a program, it takes one step and prints the loss.

JAX is not installed with jt_edu: see `beside_jax.py`.
"""

import sys

import jax
import jax.numpy as jnp
from jax import lax

from tests.bench.networks import NETWORKS, RATE, numbers


def trainer(name, *sizes):
    """A function that takes one step and returns the loss."""
    sizes = sizes or NETWORKS[name].sizes
    (x, wanted), weights = numbers(name, *sizes)
    forward, error = FORWARD[name], cross_entropy if wanted.dtype.kind == "i" else mean_squared_error

    @jax.jit
    def step(weights, x, wanted):
        loss, slopes = jax.value_and_grad(lambda w: error(forward(w, x, *sizes), wanted))(weights)
        return jax.tree.map(lambda w, slope: w - RATE * slope, weights, slopes), loss

    x, wanted, weights = jnp.asarray(x), jnp.asarray(wanted), jax.tree.map(jnp.asarray, weights)

    def taken():
        nonlocal weights
        weights, loss = jax.block_until_ready(step(weights, x, wanted))
        return loss

    return taken


def cross_entropy(scores, labels):
    return -jnp.take_along_axis(jax.nn.log_softmax(scores), labels[:, None], 1).mean()


def mean_squared_error(answer, wanted):
    return ((answer - wanted) ** 2).mean()


def linear(w, key, x):
    return x @ w[f"{key}.weight"].T + w[f"{key}.bias"]


def mlp(w, x, *_):
    return linear(w, "2", jax.nn.relu(linear(w, "0", x)))


def cnn(w, x, *_):
    for key in ("0", "3"):
        x = lax.conv_general_dilated(x, w[f"{key}.weight"], (1, 1), ((1, 1), (1, 1)))
        x = jax.nn.relu(x + w[f"{key}.bias"][:, None, None])
        x = lax.reduce_window(x, -jnp.inf, lax.max, (1, 1, 2, 2), (1, 1, 2, 2), "VALID")
    x = jax.nn.relu(linear(w, "7", x.reshape(len(x), -1)))
    return linear(w, "11", jax.nn.relu(linear(w, "9", x)))


def lstm(w, x, layers, width, length, batch):
    """The product with the inputs is taken for all moments at once, as everybody does."""

    def moment(state, gates, recurrent):
        h, c = state
        i, f, g, o = jnp.split(gates + h @ recurrent, 4, axis=1)
        c = jax.nn.sigmoid(f) * c + jax.nn.sigmoid(i) * jnp.tanh(g)
        h = jax.nn.sigmoid(o) * jnp.tanh(c)
        return (h, c), h

    for k in range(layers):
        gates = x @ w[f"weight_ih_l{k}"].T + (w[f"bias_ih_l{k}"] + w[f"bias_hh_l{k}"])
        recurrent, state = w[f"weight_hh_l{k}"].T, (jnp.zeros((batch, width)),) * 2
        _, x = lax.scan(lambda state, gates, r=recurrent: moment(state, gates, r), state, gates)
    return x


def transformer(w, x, layers, width, heads, *_):
    for k in range(layers):
        at = f"layers.{k}."
        x = norm(w, f"{at}norm1", x + attention(w, f"{at}self_attn.", x, heads))
        x = norm(w, f"{at}norm2", x + linear(w, f"{at}linear2", jax.nn.relu(linear(w, f"{at}linear1", x))))
    return x


def norm(w, key, x):
    x = x - x.mean(-1, keepdims=True)
    return x * lax.rsqrt((x * x).mean(-1, keepdims=True) + 1e-5) * w[f"{key}.weight"] + w[f"{key}.bias"]


def attention(w, at, x, heads):
    n, length, width = x.shape
    both = x @ w[f"{at}in_proj_weight"].T + w[f"{at}in_proj_bias"]
    q, k, v = both.reshape(n, length, 3, heads, width // heads).transpose(2, 0, 3, 1, 4)
    shares = jax.nn.softmax(q @ k.swapaxes(-1, -2) / (width // heads) ** 0.5)
    return linear(w, f"{at}out_proj", (shares @ v).swapaxes(1, 2).reshape(n, length, width))


FORWARD = {"mlp": mlp, "cnn": cnn, "lstm": lstm, "transformer": transformer}


if __name__ == "__main__":
    print(trainer(sys.argv[1])().item())
