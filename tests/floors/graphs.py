"""Graph documents, written by hand or by a few loops, for the tests that draw them."""


class Maker:
    """Writes a document node by node; `kernel` names the kernel that the following nodes belong to."""

    def __init__(self):
        self.nodes, self.kernels, self.kernel, self.gradient = [], {}, None, False

    def __call__(self, op, *inputs, kind="elementwise", shape=(2, 3), **more):
        node = {
            "id": len(self.nodes), "op": op, "kind": kind, "shape": list(shape), "dtype": "float32",
            "inputs": list(inputs), "name": "", "where": "", "stored": kind == "source", "held": False, "value": "",
            "kernel": None if kind in ("source", "constant") else self.kernel, "label": op,
            "gradient": self.gradient, **more,
        }  # fmt: skip
        self.nodes.append(node)
        if node["kernel"] is not None:
            self.kernels[node["kernel"]].append(node["id"])
        return node["id"]

    def source(self, name, shape=(2, 3), **more):
        return self("source", kind="source", shape=shape, name=name, held=True, **more)

    def constant(self, value):
        return self("constant", kind="constant", shape=(), value=value)

    def open(self):
        self.kernel = len(self.kernels)
        self.kernels[self.kernel] = []

    def document(self, *outputs):
        names = {
            k: "_".join(dict.fromkeys(self.nodes[i]["op"] for i in members)) for k, members in self.kernels.items()
        }
        for i in outputs:
            self.nodes[i]["stored"] = True
        return {
            "format": "jt_edu.graph",
            "version": 1,
            "nodes": self.nodes,
            "kernels": [{"id": k, "name": names[k], "nodes": members} for k, members in self.kernels.items()],
            "edges": [self._edge(i, node) for node in self.nodes for i in node["inputs"]],
            "outputs": list(outputs),
        }

    def _edge(self, i, node):
        fused = node["kernel"] is not None and self.nodes[i]["kernel"] == node["kernel"] and not self.nodes[i]["stored"]
        rule, reason = ("elementwise chain", "one loop computes both") if fused else ("wanted", "it was asked for")
        return {"source": i, "target": node["id"], "fused": fused, "rule": rule, "reason": reason}


def multiply_add_sum():
    """y = (a * b + c).sum()"""
    n = Maker()
    a, b, c = n.source("a"), n.source("b"), n.source("c", shape=(3,))
    n.open()
    line = "notebook cell 3, line 2: y = (a * b + c).sum()"
    product = n("mul", a, b, where=line)
    wide = n("broadcast", c, kind="reindex", label="broadcast (3,) → (2, 3)", where=line)
    total = n("add", product, wide, where=line)
    return n.document(n("sum", total, kind="reindex_reduce", shape=(), name="y", value="21.0", where=line))


def softmax():
    """softmax(x) over the last axis: one kernel."""
    n = Maker()
    x = n.source("x", shape=(32, 10))
    n.open()
    top = n("max", x, kind="reindex_reduce", shape=(32,))
    wide = n("broadcast", top, kind="reindex", shape=(32, 10))
    low = n("subtract", x, wide, shape=(32, 10))
    e = n("exp", low, shape=(32, 10), name="e")
    total = n("sum", e, kind="reindex_reduce", shape=(32,))
    wide = n("broadcast", total, kind="reindex", shape=(32, 10))
    return n.document(n("divide", e, wide, shape=(32, 10), name="p"))


def plain():
    """The same line before anything was fused, with a constant, an index and the learner's own code."""
    n = Maker()
    a, half = n.source("a"), n.constant("0.5")
    scaled = n("mul", half, a)
    turned = n("transpose", scaled, kind="reindex", shape=(3, 2), name="t")
    own = n("code", turned, kind="code", shape=(3, 2), label="my_kernel")
    ordered = n("sort", own, kind="hostcall", shape=(3, 2))
    ramp = n("arange", kind="index", shape=(3, 2))
    return n.document(n("add", ordered, ramp, shape=(3, 2), name="r"))


def training_step(hidden=128):
    """A multi-layer perceptron of two layers: loss, gradients, and the new weights."""
    n = Maker()
    x, target = n.source("x", shape=(64, 784)), n.source("target", shape=(64, 10))
    w1, b1 = n.source("W1", shape=(784, hidden)), n.source("b1", shape=(hidden,))
    w2, b2 = n.source("W2", shape=(hidden, 10)), n.source("b2", shape=(10,))
    n.open()
    m1 = n("matmul", x, w1, kind="reindex_reduce", shape=(64, hidden), stored=True)
    n.open()
    wide = n("broadcast", b1, kind="reindex", shape=(64, hidden))
    z = n("add", m1, wide, shape=(64, hidden))
    h = n("relu", z, shape=(64, hidden), name="h", stored=True, where="cell 2, line 4: h = relu(x @ W1 + b1)")
    n.open()
    m2 = n("matmul", h, w2, kind="reindex_reduce", shape=(64, 10), stored=True)
    n.open()
    wide = n("broadcast", b2, kind="reindex", shape=(64, 10))
    out = n("add", m2, wide, shape=(64, 10), name="out")
    error = n("subtract", out, target, shape=(64, 10), stored=True)
    square = n("square", error, shape=(64, 10))
    loss = n("mean", square, kind="reindex_reduce", shape=(), name="loss", value="0.193")
    n.gradient = True
    dout = n("mul", error, n.constant("0.0031"), shape=(64, 10), name="dout", stored=True)
    n.open()
    dw2 = n("matmul", h, dout, kind="reindex_reduce", shape=(hidden, 10), name="dW2", stored=True)
    n.open()
    db2 = n("sum", dout, kind="reindex_reduce", shape=(10,), name="db2", stored=True)
    n.open()
    dh = n("matmul", dout, w2, kind="reindex_reduce", shape=(64, hidden), name="dh", stored=True)
    n.open()
    mask = n("greater", h, n.constant("0"), shape=(64, hidden))
    dz = n("mul", dh, mask, shape=(64, hidden), stored=True)
    db1 = n("sum", dz, kind="reindex_reduce", shape=(hidden,), name="db1", stored=True)
    n.open()
    dw1 = n("matmul", x, dz, kind="reindex_reduce", shape=(784, hidden), name="dW1", stored=True)
    n.gradient = False
    new = []
    for name, p, d, shape in (
        ("W1", w1, dw1, (784, hidden)),
        ("b1", b1, db1, (hidden,)),
        ("W2", w2, dw2, (hidden, 10)),
        ("b2", b2, db2, (10,)),
    ):
        n.open()
        step = n("mul", n.constant("0.1"), d, shape=shape)
        new.append(n("subtract", p, step, shape=shape, name=name, held=True))
    return n.document(loss, *new)


def chain(length, per_kernel=None):
    n = Maker()
    last = n.source("x")
    for k in range(length):
        if per_kernel and k % per_kernel == 0:
            n.open()
        last = n(("exp", "log", "tanh")[k % 3], last, stored=bool(per_kernel) and (k + 1) % per_kernel == 0)
    return n.document(last)


def diamonds(count):
    n = Maker()
    last = n.source("x")
    for _ in range(count):
        left, right = n("sin", last), n("cos", last)
        last = n("add", left, right)
    return n.document(last)


def residual(blocks, kernels=False):
    n = Maker()
    last = n.source("x", shape=(8, 64))
    for k in range(blocks):
        w = n.source(f"block{k}.weight", shape=(64, 64))
        if kernels:
            n.open()
        h = n("matmul", last, w, kind="reindex_reduce", shape=(8, 64), stored=kernels)
        if kernels:
            n.open()
        h = n("relu", h, shape=(8, 64))
        last = n("add", h, last, shape=(8, 64), stored=kernels)
    return n.document(last)


def mirrored(layers, kernels=False):
    """Forward, then backward, which reads every forward value again."""
    n = Maker()
    values, weights = [n.source("x", shape=(8, 64))], []
    for k in range(layers):
        weights.append(n.source(f"W{k}", shape=(64, 64)))
        if kernels:
            n.open()
        h = n("matmul", values[-1], weights[-1], kind="reindex_reduce", shape=(8, 64))
        values.append(n("tanh", h, shape=(8, 64), stored=kernels))
    d, n.gradient, outputs = values[-1], True, []
    for k in reversed(range(layers)):
        if kernels:
            n.open()
        d = n("tanh_gradient", values[k + 1], d, shape=(8, 64), stored=kernels)
        outputs.append(n("matmul", values[k], d, kind="reindex_reduce", shape=(64, 64), name=f"dW{k}"))
        d = n("matmul", d, weights[k], kind="reindex_reduce", shape=(8, 64), stored=kernels)
    return n.document(*outputs)


def fan(count):
    n = Maker()
    sources = [n.source(f"x{k}") for k in range(count)]
    return n.document(n("stack", *sources, kind="code", shape=(count, 2, 3)))


KINDS = ["elementwise"] * 3 + ["reindex", "reindex_reduce", "source", "constant", "index", "code", "hostcall"]
NAMES = ["", "", "y", "gradient_of_the_loss", "输入张量", "x" * 80]


def scattered(rng, count, kernels):
    """A random graph: names of any length, inputs from nearby and from far."""
    n = Maker()
    n.source("x")
    for k in range(1, count):
        if kernels and k % 5 == 1:
            n.open()
        near = [max(0, k - rng.randint(1, 6)) for _ in range(rng.randint(1, 2))]
        far = [rng.randrange(k)] if rng.random() < 0.2 else []
        kind, op = rng.choice(KINDS), rng.choice(["add", "mul", "a_long_name_of_an_operator", "f"])
        shape = [rng.randint(1, 5000) for _ in range(rng.randint(0, 4))]
        inputs = [] if kind in ("source", "constant", "index") else near + far
        more = {"stored": rng.random() < 0.3, "name": rng.choice(NAMES), "value": rng.choice(["", "3.5"])}
        n(op, *inputs, kind=kind, shape=shape, **more)
    return n.document(count - 1, rng.randrange(count))


def network(blocks=4, width=64, called_again=False):
    """A training step of a residual network, made of modules: forward, loss, gradients, new weights."""
    n, weights = Maker(), {}
    modules = Modules(n)
    n.source("x", shape=(8, width))
    n.source("target", shape=(8, width))
    h = modules.linear(0, "Net/start", ["Net", "Linear"], weights)
    for k in range(blocks):
        path, classes = f"Net/body/{k}", ["Net", "Sequential", "Block"]
        low = modules.linear(h, f"{path}/a", [*classes, "Linear"], weights)
        low = modules(path, classes, "relu", low, stored=True)
        low = modules.linear(low, f"{path}/b", [*classes, "Linear"], weights)
        h = modules(path, classes, "add", h, low, stored=True)
    if called_again:
        h = modules("", [], "normalize", h, where="step.py:4: h = normalize(net.start(h))", stored=True)
        h = modules.linear(h, "Net/start", ["Net", "Linear"], weights)
    line = "step.py:5: loss = ((net(x) - target) ** 2).mean()"
    error = modules("", [], "subtract", h, 1, where=line)
    square = modules("", [], "square", error, where=line)
    loss = modules("", [], "mean", square, kind="reindex_reduce", shape=(), where=line, name="loss", stored=True)
    gradients, new = modules.backward(loss, n.nodes[:]), []
    line = "step.py:7: optimizer.step()"
    for w in weights.values():
        step = modules("", [], "multiply", n.constant("0.1"), gradients[w], shape=n.nodes[w]["shape"], where=line)
        shape = n.nodes[w]["shape"]
        new.append(modules("", [], "subtract", w, step, shape=shape, where=line, stored=True))
    return n.document(loss, *new)


def made_inputs():
    """A small model whose inputs are made: random numbers, data that is scaled, and a mean that was never computed."""
    n = Maker()
    modules, byte = Modules(n), n.constant("255")
    data = {"shape": (4, 8), "input": 2, "made": "data"}
    pixels = n.source("pixels", **data)
    n.open()
    image = n("divide", pixels, byte, **data, name="image", stored=True)
    n.open()
    noise = {"shape": (4, 8), "input": 6, "made": "random numbers"}
    place = n("index", kind="index", **noise)
    bits = n("random_bits", place, **noise)
    n("cast", bits, **noise)
    noise = n("normal", n.nodes[-1]["id"], **noise)
    mean = {"shape": (8,), "input": 8, "made": "constants", "kind": "reindex"}
    mean = n("broadcast", n.constant("0"), **mean, name="Net.norm.mean")
    h = modules("Net/norm", ["Net", "Norm"], "subtract", image, mean, stored=True)
    for k in range(2):
        path, classes = f"Net/body/{k}", ["Net", "Sequential", "Block"]
        low = modules(f"{path}/act", [*classes, "ReLU"], "relu", h)
        h = modules(path, classes, "add", low, h, stored=True)
    return n.document(modules("Net", ["Net"], "add", h, noise, name="y"))


class Modules:
    """Nodes that modules built; what is stored ends its kernel."""

    def __init__(self, maker):
        self.maker, self.open = maker, False

    def __call__(self, module, modules, op, *inputs, **more):
        if not self.open:
            self.maker.open()
        shape = more.pop("shape", self.maker.nodes[inputs[0]]["shape"])
        self.open = not more.get("stored")
        return self.maker(op, *inputs, shape=shape, module=module, modules=modules, **more)

    def linear(self, x, path, classes, weights):
        name, shape = path.removeprefix("Net/").replace("/", "."), self.maker.nodes[x]["shape"]
        for part, size in (("weight", (shape[1], shape[1])), ("bias", shape[1:])):
            if (name, part) not in weights:
                weights[name, part] = self.maker.source(f"{name}.{part}", shape=size)
        w, b = weights[name, "weight"], weights[name, "bias"]
        y = self(path, classes, "matmul", x, w, kind="reindex_reduce", shape=shape, stored=True)
        return self(path, classes, "add", y, self(path, classes, "broadcast", b, kind="reindex", shape=shape))

    def backward(self, loss, forward):
        self.maker.gradient = True
        found = {loss: self(forward[loss]["module"], forward[loss]["modules"], "ones_like", loss, shape=())}
        for node in reversed(forward):
            for k, i in enumerate(node["inputs"] if node["id"] in found else ()):
                where, saved = (node["module"], node["modules"]), [j for j in node["inputs"] if j != i][:1]
                more = {"shape": forward[i]["shape"], "twin": node["id"], "where": node["where"]}
                d = self(*where, f"{node['op']}_gradient", found[node["id"]], *saved, stored=k == 0, **more)
                found[i] = self(*where, "add", found[i], d, **more) if i in found else d
        self.maker.gradient = False
        return found
