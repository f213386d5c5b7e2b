"""Functional: norms, tables of rows, dropout and other functions of jt.nn that learn nothing by themselves."""

import numpy as np

import jt_edu as jt
from jt_edu import nn
from tests.arguments.inputs import X, above, few, some
from tests.arguments.rows import Given, Row, as_numpy, as_torch, refuses, shows

IMAGE, SQUARE = some(2, 4, 5), some(4, 4)
C, D = above(4), above(4, seed=1)
TABLE = some(4, 3)
WORDS, BAGS = few(2, 5), np.array([0, 2, 5])
STATISTICS = ("running_mean", "running_var")


def told(function, words, **given):
    """What a norm answers, and what it does to the running statistics that it is given."""
    kept = [given[word] for word in STATISTICS if word in given]
    return [function(*words, **given), *kept]


def norm_by(name) -> list[Row]:
    """batch_norm and instance_norm."""
    ours = getattr(nn, name)
    learns = {"training": True} if name == "batch_norm" else {}
    kept = {"running_mean": C, "running_var": D}
    switch = {"training": True} if name == "batch_norm" else {"use_input_stats": False}

    def theirs(torch, x, **given):
        base = {} if name == "instance_norm" else {"running_mean": None, "running_var": None}
        return told(getattr(torch.nn.functional, name), (x,), **{**base, **given})

    def asked(x, **given):
        return told(ours, (x,), **given)

    rows = as_torch(
        asked, IMAGE, twin=theirs, whose=ours, using={**kept, **learns}, weight=C, bias=C, eps=0.5, momentum=0.3
    )
    rows += as_torch(asked, IMAGE, twin=theirs, whose=ours, using=kept, **switch)
    for word, value in kept.items():
        rest = {n: v for n, v in kept.items() if n != word}
        rows += as_torch(asked, IMAGE, twin=theirs, whose=ours, using={**rest, **learns}, **{word: value})
    return rows


def gradient(lookup, words, weight, **given):
    """The gradient of a table."""
    return jt.grad((lookup(words, weight, **given) * jt.array(np.arange(1.0, 4.0))).sum(), weight)


def of_torch(name):
    def fact(torch, words, weight, **given):
        weight.requires_grad_()
        out = getattr(torch.nn.functional, name)(words, weight, **given)
        return torch.autograd.grad((out * torch.arange(1.0, 4.0)).sum(), weight)[0]

    return fact


def of_table(name, words, **given) -> list[Row]:
    ours = getattr(nn, name)
    return as_torch(lambda x, w, **g: gradient(ours, x, w, **g), words, TABLE, whose=ours, twin=of_torch(name), **given)


TABLES = [
    *refuses(nn.embedding, "sparse", True, lambda **k: nn.embedding(jt.array(WORDS), jt.array(TABLE), **k)),
    *refuses(nn.embedding_bag, "sparse", True, lambda **k: nn.embedding_bag(jt.array(WORDS), jt.array(TABLE), **k)),
    *refuses(nn.Embedding, "sparse", True, lambda **k: nn.Embedding(3, 2, **k)),
    *refuses(nn.EmbeddingBag, "sparse", True, lambda **k: nn.EmbeddingBag(3, 2, **k)),
    *as_torch(nn.embedding, WORDS, TABLE, max_norm=0.7, norm_type=Given(1.0, max_norm=0.7)),
    *of_table("embedding", WORDS, padding_idx=1, scale_grad_by_freq=True),
    *as_torch(nn.embedding_bag, WORDS, TABLE, max_norm=0.7, norm_type=Given(1.0, max_norm=0.7), mode="sum",
              padding_idx=1,
              per_sample_weights=Given(above(2, 5), mode="sum")),
    *of_table("embedding_bag", np.array([[0, 1, 2], [2, 0, 1]]), scale_grad_by_freq=True),
    *as_torch(nn.embedding_bag, WORDS[0], TABLE, offsets=BAGS[:2], include_last_offset=Given(True, offsets=BAGS)),
    *(row for word, value in (("offsets", BAGS[:2]), ("per_sample_weights", above(5))) for row in shows(
        nn.EmbeddingBag.execute, word, "an array",
        lambda word=word, value=value, **k: bag(**{word: value} if k else {}),
        lambda torch, word=word, value=value: bag_of_torch(torch, **{word: value}))),
    *(row for kind in (nn.Embedding, nn.EmbeddingBag) for row in shows(
        kind.from_pretrained, "freeze", False,
        lambda kind=kind, **k: kind.from_pretrained(jt.array(TABLE), **k).weight.requires_grad)),
]  # fmt: skip


def bag(**given):
    """A bag of sums, with or without weights; one axis needs offsets, two have none."""
    layer = nn.EmbeddingBag.from_pretrained(jt.array(TABLE), mode="sum")
    return layer(*words_of(jt.array, given), **{name: jt.array(value) for name, value in _shaped(given).items()})


def bag_of_torch(torch, **given):
    layer = torch.nn.EmbeddingBag.from_pretrained(torch.tensor(TABLE), mode="sum")
    return layer(
        *words_of(torch.tensor, given), **{name: torch.tensor(value) for name, value in _shaped(given).items()}
    )


def words_of(make, given):
    return [make(WORDS[0] if "offsets" in given else WORDS[:1])]


def _shaped(given):
    return {name: value if name == "offsets" else value[None] for name, value in given.items()}


FORGETTING = (nn.dropout, nn.dropout1d, nn.dropout2d, nn.dropout3d, nn.alpha_dropout, nn.feature_alpha_dropout)
DROPOUTS = (nn.Dropout, nn.Dropout1d, nn.Dropout2d, nn.Dropout3d, nn.AlphaDropout, nn.FeatureAlphaDropout)


def intact(call, name) -> bool:
    """Whether nothing is forgotten, seed 0; some take images of so many axes only."""
    jt.set_global_seed(0)
    ones = jt.ones(9, 9, 1, 1) if "3d" in name else jt.ones(9, 9, 1)
    return bool((call(ones).numpy() == 1).all())


def forgets(f) -> list[Row]:
    """`p`: how much; `is_train`, or `training`: whether at all. As in PyTorch, two of them do nothing until told."""
    asleep = f in (nn.alpha_dropout, nn.feature_alpha_dropout)

    def ask(**given):
        return intact(lambda x: f(x, **given), f.__name__)

    rows = shows(f, "p", 0.0, lambda **k: ask(is_train=True, **k))
    return rows + [row for word in ("is_train", "training") for row in shows(f, word, asleep, ask, not asleep)]


def layers_that_forget() -> list[Row]:
    return [row for kind in DROPOUTS for row in shows(
        kind, "p", 0.0, lambda kind=kind, **k: intact(kind(**k), kind.__name__))]  # fmt: skip


def gumbel(**given):
    jt.set_global_seed(0)
    return nn.gumbel_softmax(jt.array(X), **given)


def soft(tau) -> np.ndarray:
    """With the noise of the same seed, which the answer at tau 1 tells up to a shift of each row."""
    e = np.exp(np.log(gumbel().numpy()) / tau)
    return e / e.sum(-1, keepdims=True)


def waves(length, width, base):
    turns = np.arange(length)[:, None] / base ** (np.arange(0, width, 2) / width)
    return np.stack([np.sin(turns), np.cos(turns)], -1).reshape(length, width).astype("float32")


ROWS = [
    *norm_by("batch_norm"),
    *norm_by("instance_norm"),
    *as_torch(nn.group_norm, IMAGE, 2, weight=C, bias=C, eps=0.5),
    *as_torch(nn.layer_norm, X, (4,), weight=C, bias=C, eps=0.5),
    *shows(nn.layer_norm, "dim", 0, lambda **k: nn.layer_norm(SQUARE, (4,), C, C, **k),
           lambda torch: torch.layer_norm(torch.tensor(SQUARE.T), (4,), torch.tensor(C), torch.tensor(C)).T),
    *as_torch(nn.rms_norm, X, (4,), weight=C, eps=0.5),
    *as_torch(nn.local_response_norm, IMAGE, 3, alpha=0.5, beta=2.0, k=3.0),
    *TABLES,
    *(row for f in FORGETTING for row in forgets(f)),
    *layers_that_forget(),
    *shows(nn.gumbel_softmax, "tau", 3.0, gumbel, lambda torch: soft(3.0)),
    *shows(nn.gumbel_softmax, "dim", 0, lambda **k: gumbel(**k).numpy().sum(0), np.ones(4)),
    *shows(nn.gumbel_softmax, "hard", True,
           lambda **k: sorted(set(gumbel(**k).numpy().ravel().round(9).tolist())), [0.0, 1.0]),
    *as_numpy(nn.positional_encoding, 3, 4, twin=waves, base=50.0),
]  # fmt: skip
