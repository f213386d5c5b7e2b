"""Whatever learners call their attributes, the framework's own calls go through the class."""

import copy
import io
import pickle

import numpy as np
import pytest

import jt_edu as jt
from jt_edu import nn, optim
from jt_edu.data import DataLoader, Dataset, Sampler, TensorDataset
from jt_edu.data.transform import Transform
from jt_edu.optim.lr_scheduler import Schedule, StepLR

pytestmark = pytest.mark.usefixtures("python_backend")


def names_of(kind):
    """The public methods of a class, inherited ones too."""
    return [n for n in dir(kind) if not n.startswith("_") and callable(getattr(kind, n, None))]


def hidden(thing, name, value):
    """A thing whose learner keeps something of their own under the name of a method."""
    setattr(thing, name, value)
    return thing


class Net(nn.Module):
    """A module with all that one has: layers in lists, a buffer, a mode that counts."""

    def __init__(self):
        self.first = nn.Linear(2, 2)
        self.rest = [nn.Sequential(nn.BatchNorm(2), nn.Dropout(0.5)), nn.ModuleDict({"last": nn.Linear(2, 1)})]
        self.register_buffer("shift", jt.ones(1))

    def execute(self, x):
        return self.rest[1]["last"](self.rest[0](self.first(x))) + self.shift


def of_a_module(net, tmp_path):
    """What a program does with a module, by functions of the class: a hidden one is the learner's."""
    net_is = nn.Module
    x = jt.array([[1.0, 2.0], [3.0, -1.0]])
    net_is.eval(net)
    out = net(x)
    net_is.save(net, tmp_path / "net.npz")
    net_is.load(net, tmp_path / "net.npz")
    heard = []
    handle = net_is.register_forward_hook(net, lambda *_: heard.append("after"))
    backwards = net_is.register_backward_hook(net, lambda *_: heard.append("back"))
    optimizer = optim.SGD([p for p in net_is.parameters(net) if p.shape != (3, 3)], lr=0.0)
    optimizer.step(net(x).sum())
    handle.remove()
    backwards.remove()
    net_is.apply(net_is.train(net_is.requires_grad_(net_is.float(net), True)), lambda module: None)
    state = net_is.state_dict(copy.deepcopy(net))
    net_is.load_state_dict(net, state)
    same = pickle.loads(pickle.dumps(net)) if type(net) is Net else copy.copy(net)  # noqa: S301 - bytes of its own
    walked = []
    net_is.dfs(net, [], "net", lambda parents, key, module, count: walked.append(key))
    named = [[n for n, _ in f(net)] for f in (net_is.named_parameters, net_is.named_buffers, net_is.named_modules)]
    net_is.zero_grad(net)
    found = net_is.get_submodule(net, "rest.1.last"), net_is.get_parameter(net, "first.weight").shape
    return (
        out.tolist(), sorted(heard), list(state), walked, named, repr(net), found[1], net.first.training,
        [p.tolist() for p in net_is.parameters(same)], jt.memory_stats().weights > 0,
    )  # fmt: skip


@pytest.fixture(scope="module")
def known(tmp_path_factory):
    """What such a module answers whose learner has no name of ours."""
    with jt.flag_scope(backend="python"):
        jt.set_global_seed(0)
        return of_a_module(hidden(Net(), "mine", 3), tmp_path_factory.mktemp("net"))


@pytest.mark.parametrize("name", [*names_of(nn.Module), "_vars", "_rows", "may_miss", "_hook", "_kind"])
def test_a_module_may_keep_a_number_under_any_name(name, known, tmp_path):
    jt.set_global_seed(0)

    net = hidden(Net(), name, 3)

    assert of_a_module(net, tmp_path) == known
    assert getattr(net, name) == 3


@pytest.mark.parametrize("name", ["modules", "execute", "parameters"])
def test_a_compiled_module_may_keep_what_it_likes(name):
    net = nn.Linear(2, 1, bias=False)
    out = net(jt.ones(1, 2)).tolist()

    assert jt.compile(hidden(net, name, [3]))(jt.ones(1, 2)).tolist() == out


@pytest.mark.parametrize("name", names_of(nn.Module))
def test_a_module_may_keep_a_module_under_any_name(name, tmp_path):
    net = hidden(Net(), name, nn.ModuleList([nn.Linear(3, 3, bias=False)]))

    of_a_module(net, tmp_path)

    assert dict(nn.Module.named_parameters(net))[f"{name}.0.weight"].shape == (3, 3)


@pytest.mark.parametrize("name", ["members", "named_modules", "parameters", "buffers", "dfs", "children"])
def test_a_method_of_the_learner_with_another_meaning_does_no_harm(name, tmp_path):
    kind = type("Team", (Net,), {name: lambda self, who: who})

    of_a_module(kind(), tmp_path)

    assert getattr(kind(), name)("me") == "me"


@pytest.mark.parametrize("kind", [nn.Sequential, nn.ModuleList, nn.ModuleDict, nn.ParameterList, nn.ParameterDict])
def test_a_container_may_keep_what_it_likes_under_any_name(kind):
    def begin():
        parts = [jt.ones(2)] if "Parameter" in kind.__name__ else [nn.ReLU()]
        return kind({"a": parts[0]} if "Dict" in kind.__name__ else parts)

    def seen(row):
        said = [p.shape for p in nn.Module.parameters(row)], len(nn.Module.modules(row)), len(row), repr(row)
        return *said, list(nn.Module.state_dict(nn.Module.eval(row))), [str(part) for part in row]

    for name in [*names_of(kind), "layers", "what", "_checked"]:
        assert seen(hidden(begin(), name, 3)) == seen(begin()), name


def test_is_train_stays_the_mode():
    with pytest.raises(jt.ArgumentError, match="is_train"):
        hidden(Net(), "is_train", nn.Linear(1, 1))


def test_a_function_in_the_place_of_a_hook_counts():
    net = Net()
    net.execute = lambda x: x * 2
    net.extra_repr = lambda: "by hand"

    assert net(jt.ones(1)).item() == 2.0
    assert "by hand" in repr(net)

    plain = nn.Module()
    plain.forward = jt.sin
    assert plain(jt.zeros(1)).item() == 0.0


def test_a_module_that_says_nothing_is_told_so_whatever_it_keeps():
    with pytest.raises(jt.ArgumentError, match="no execute method"):
        hidden(nn.Module(), "forward", nn.Linear(1, 1))(jt.ones(1))


@pytest.mark.parametrize("value", [32, [1, 2]])
@pytest.mark.parametrize("name", [*names_of(Dataset), "_count", "_lengths", "_requests", "_told", "_fetch"])
def test_a_dataset_may_keep_what_it_likes_under_any_name(name, value):
    class Squares(Dataset):
        def __init__(self):
            super().__init__(batch_size=2)
            Dataset.set_attrs(self, total_len=3)
            setattr(self, name, value)

        def __getitem__(self, k):
            return k * k

    squares = Squares()

    assert [b.tolist() for b in squares] == [b.tolist() for b in DataLoader(squares, batch_size=2)] == [[0, 1], [4]]
    assert len(squares) == 2
    assert repr(squares) == "Squares(3 examples, 2 batches of 2)"
    assert getattr(squares, name) == value


@pytest.mark.parametrize("name", [*names_of(TensorDataset), "batch"])
def test_a_class_may_have_a_value_of_that_name(name):
    class Pairs(TensorDataset):
        pass

    setattr(Pairs, name, 32)

    assert [x.tolist() for (x,) in Pairs(np.arange(3), batch_size=2)] == [[0, 1], [2]]
    assert [x.tolist() for (x,) in DataLoader(Pairs(np.arange(3)), batch_size=2)] == [[0, 1], [2]]


@pytest.mark.parametrize("name", [*names_of(DataLoader), "_said", "_samplers", "_job", "_requests"])
def test_a_loader_may_keep_what_it_likes_under_any_name(name):
    loader = hidden(DataLoader([1, 2, 3], batch_size=2), name, 5)

    assert [b.tolist() for b in loader] == [[1, 2], [3]]


class Around(optim.SGD):
    """A rule on top of another."""


@pytest.mark.parametrize(
    "kind", [Around, lambda p, lr: optim.Lookahead(optim.Adam(p, lr)), lambda p, lr: optim.LBFGS(p, lr, max_iter=1)]
)
@pytest.mark.parametrize(
    "name",
    [*names_of(optim.Optimizer), "states", "counts", "from_0", "shares", "flags", "replays", "_params", "_moves"],
)
def test_an_optimizer_may_keep_what_it_likes_under_any_name(name, kind):
    def trained(attributes):
        w = jt.array([1.0, 2.0])
        optimizer = kind([w], 0.1)
        vars(optimizer).update(attributes)
        is_a = type(optimizer)
        for _ in range(3):
            if is_a is optim.LBFGS:
                is_a.step(optimizer, lambda: (w * w).sum())
            else:
                is_a.step(optimizer, (w * w).sum())
                (w * w).sum().backward()
                is_a.step(optimizer)
                is_a.zero_grad(optimizer)
                is_a.backward(optimizer, w.sum())
                is_a.clip_grad_norm(optimizer, 1.0)
                is_a.step(optimizer)
        is_a.load_state_dict(optimizer, is_a.state_dict(copy.deepcopy(optimizer)))
        StepLR(optimizer, 1).step()
        return w.tolist(), optimizer.lr, repr(optimizer)

    assert trained({name: 7}) == trained({})


@pytest.mark.parametrize("name", names_of(Schedule))
def test_a_schedule_may_keep_what_it_likes_under_any_name(name):
    class Halve(Schedule):
        def __init__(self, optimizer):
            setattr(self, name, 0.25)
            super().__init__(optimizer)

        def rate(self, base, epoch):
            return base / 2**epoch

    optimizer = optim.SGD([jt.ones(1)], lr=0.8)
    halve = Halve(optimizer)
    Halve.step(halve)
    Halve.load_state_dict(halve, Halve.state_dict(halve))

    assert (optimizer.lr, getattr(halve, name)) == (0.4, 0.25)


def test_a_transform_may_keep_what_it_likes_under_any_name():
    class Negative(Transform):
        def change(self, planes):
            return 1 - planes

    assert hidden(Negative(), "change", 3)(np.array([[[0.25]]])).tolist() == [[[0.75]]]


# ---------------------------------------------------------------------------------------------- falling back on a part


class Wrapped(nn.Module):
    """A module that has all that the one inside has."""

    def __init__(self, inner):
        self.had = hasattr(self, "anything"), hasattr(self, "_private")
        self.inner = inner

    def __getattr__(self, name):
        return getattr(self.inner, name)

    def execute(self, x):
        return self.inner(x)


class WrappedData(Dataset):
    """The same of a dataset."""

    def __init__(self, inner):
        self.had = hasattr(self, "anything")
        self.inner = inner

    def __getattr__(self, name):
        return getattr(self.inner, name)

    def __getitem__(self, k):
        return self.inner[k]


class WrappedRule(optim.SGD):
    """The same of an optimizer, with PyTorch's words."""

    def __init__(self, inner):
        self.inner = inner
        super().__init__([jt.ones(1)], lr=0.1)

    def __getattr__(self, name):
        try:
            return super().__getattr__(name)
        except AttributeError:
            return getattr(self.inner, name)


class WrappedOrder(Sampler):
    """The same of a sampler."""

    def __init__(self, inner):
        self.inner = inner

    def __getattr__(self, name):
        return getattr(self.inner, name)


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy, lambda thing: pickle.loads(pickle.dumps(thing))])  # noqa: S301 - bytes of its own
@pytest.mark.parametrize("kind", [Wrapped, WrappedData, WrappedRule, WrappedOrder])
@pytest.mark.parametrize("inner", [nn.Linear(2, 1), io.BytesIO, jt.ones(2), [3, 4]])
def test_what_falls_back_on_a_part_is_copied(kind, copied, inner):
    thing = kind(inner)

    other = copied(thing)

    assert type(other) is kind
    assert other is not thing
    assert type(other.inner) is type(inner)


class Falling:
    """None of ours: what a class of the learner's brings along."""

    def __getattr__(self, name):
        return getattr(self.inner, name)


class MixedIn(Falling, nn.Module):
    def __init__(self, inner):
        self.inner = inner


class MixedInLast(nn.Module, Falling):
    def __init__(self, inner):
        self.inner = inner


class OfBoth(MixedIn):
    """Falls back twice."""

    def __getattr__(self, name):
        try:
            return super().__getattr__(name)
        except AttributeError:
            return f"no {name}"


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy, lambda thing: pickle.loads(pickle.dumps(thing))])  # noqa: S301 - bytes of its own
@pytest.mark.parametrize("kind", [MixedIn, MixedInLast, OfBoth, type("Below", (MixedIn,), {})])
def test_what_inherits_its_way_of_falling_back_is_copied(kind, copied, monkeypatch):
    monkeypatch.setitem(globals(), kind.__name__, kind)

    other = copied(kind(nn.Linear(2, 1)))

    assert type(other) is kind
    assert (other.weight.shape, other.inner.bias.shape) == ((1, 2), (1,))


def test_one_who_falls_back_twice_asks_the_first_one_first():
    assert OfBoth(nn.Linear(2, 1)).weight.shape == (1, 2)
    assert OfBoth(nn.Linear(2, 1)).nothing == "no nothing"


@pytest.mark.parametrize("kind", [Dataset, nn.Module, optim.SGD, Sampler])
def test_a_thing_whose_learner_hides_a_method_is_pickled(kind, monkeypatch):
    mine = type("Hiding", (kind,), {"__module__": __name__})
    monkeypatch.setitem(globals(), "Hiding", mine)
    thing = object.__new__(mine)
    vars(thing).update(dict.fromkeys(names_of(kind), 3))

    assert vars(pickle.loads(pickle.dumps(thing))) == vars(thing)  # noqa: S301 - bytes of its own


def test_what_falls_back_on_a_part_has_nothing_before_the_part_is_there():
    assert Wrapped(nn.Linear(2, 1)).had == (False, False)
    assert Wrapped(nn.Linear(2, 1)).weight.shape == (1, 2)
    assert not hasattr(Wrapped(nn.Linear(2, 1)), "nothing")
