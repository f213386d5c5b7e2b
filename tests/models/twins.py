"""The same networks a second time, each as one function of a state and an image, in PyTorch's functions.

    resnet(State(torch, tensors), x)        x: (n, 3, h, w) -> (n, classes)

A state holds tensors under torchvision's names. What a network does is read off this file and the shapes in the state,
and off nothing of ours. Which features dropout forgets is left to chance, so these twins never forget any.
"""

import re


class State:
    """The layers of a network by name, as functions of an image. While training, batch norm uses the batch."""

    def __init__(self, torch, tensors, train=False, momentum=0.1):
        self.torch, self.f = torch, torch.nn.functional
        self.tensors, self.train, self.momentum = tensors, train, momentum

    def has(self, layer):
        return f"{layer}.weight" in self.tensors

    def count(self, pattern):
        """How many blocks there are, such as "layer1.#."."""
        wanted = re.compile(re.escape(pattern).replace(r"\#", r"(\d+)"))
        return 1 + max(int(m[1]) for m in map(wanted.match, self.tensors) if m)

    def conv(self, name, x, stride=1, padding=None, groups=1):
        weight, bias = self.tensors[f"{name}.weight"], self.tensors.get(f"{name}.bias")
        around = weight.shape[-1] // 2 if padding is None else padding  # the image keeps its size
        return self.f.conv2d(x, weight, bias, stride, around, 1, groups)

    def norm(self, name, x):
        words = ("running_mean", "running_var", "weight", "bias")
        mean, var, weight, bias = (self.tensors[f"{name}.{word}"] for word in words)
        self.tensors[f"{name}.num_batches_tracked"] += self.train
        return self.f.batch_norm(x, mean, var, weight, bias, self.train, self.momentum)

    def both(self, conv, norm, x, stride=1, groups=1):
        """Convolution, batch norm, ReLU."""
        return self.f.relu(self.norm(norm, self.conv(conv, x, stride, groups=groups)))

    def linear(self, name, x):
        return self.f.linear(x, self.tensors[f"{name}.weight"], self.tensors[f"{name}.bias"])


# ------------------------------------------------------------------------------------------------ in a straight line


def alexnet(s, x):
    relu, pool = s.f.relu, lambda y: s.f.max_pool2d(y, 3, 2)
    x = pool(relu(s.conv("features.0", x, 4, 2)))
    x = pool(relu(s.conv("features.3", x)))
    for k in (6, 8, 10):
        x = relu(s.conv(f"features.{k}", x))
    x = s.f.adaptive_avg_pool2d(pool(x), 6).flatten(1)
    return s.linear("classifier.6", relu(s.linear("classifier.4", relu(s.linear("classifier.1", x)))))


def vgg_features(s, x):
    convs = sorted(int(k.split(".")[1]) for k, t in s.tensors.items() if k.startswith("features") and t.ndim == 4)
    step = 3 if s.has("features.1") else 2  # with a batch norm behind each convolution
    for k in convs:
        x = s.conv(f"features.{k}", x)
        x = s.f.relu(s.norm(f"features.{k + 1}", x) if step == 3 else x)
        x = x if k + step in convs else s.f.max_pool2d(x, 2, 2)  # there is a gap in the numbers: a pool
    return x


def vgg(s, x):
    x = s.f.adaptive_avg_pool2d(vgg_features(s, x), 7).flatten(1)
    return s.linear("classifier.6", s.f.relu(s.linear("classifier.3", s.f.relu(s.linear("classifier.0", x)))))


# ----------------------------------------------------------------------------------------------------------- blocks


def residual(s, name, x, stride=1, groups=1):
    """Both kinds of blocks of a ResNet."""
    if s.has(f"{name}.conv3"):
        y = s.both(f"{name}.conv1", f"{name}.bn1", x)
        y = s.both(f"{name}.conv2", f"{name}.bn2", y, stride, groups)
        y = s.norm(f"{name}.bn3", s.conv(f"{name}.conv3", y))
    else:
        y = s.both(f"{name}.conv1", f"{name}.bn1", x, stride)
        y = s.norm(f"{name}.bn2", s.conv(f"{name}.conv2", y))
    around = f"{name}.downsample"
    return s.f.relu(y + (s.norm(f"{around}.1", s.conv(f"{around}.0", x, stride)) if s.has(f"{around}.0") else x))


def fire(s, name, x):
    x = s.f.relu(s.conv(f"{name}.squeeze", x))
    return s.torch.cat([s.f.relu(s.conv(f"{name}.expand{n}", x)) for n in ("1x1", "3x3")], 1)


def inverted(s, name, x, stride=1):
    """Of MobileNet v2. The first has no convolution to more channels."""
    y, name, k = x, f"{name}.conv", 0
    if s.has(f"{name}.1.0"):
        y, k = s.norm(f"{name}.0.1", s.conv(f"{name}.0.0", y)).clamp(0, 6), 1
    y = s.norm(f"{name}.{k}.1", s.conv(f"{name}.{k}.0", y, stride, groups=y.shape[1])).clamp(0, 6)
    y = s.norm(f"{name}.{k + 2}", s.conv(f"{name}.{k + 1}", y))
    return x + y if stride == 1 and x.shape == y.shape else y


def shuffled(s, name, x, stride=1):
    one, two = (f"{name}.branch{n}" for n in (1, 2))
    left, right = (x, x) if stride == 2 else x.chunk(2, 1)
    if stride == 2:
        left = s.norm(f"{one}.1", s.conv(f"{one}.0", left, 2, groups=left.shape[1]))
        left = s.both(f"{one}.2", f"{one}.3", left)
    right = s.both(f"{two}.0", f"{two}.1", right)
    right = s.norm(f"{two}.4", s.conv(f"{two}.3", right, stride, groups=right.shape[1]))
    right = s.both(f"{two}.5", f"{two}.6", right)
    return s.torch.stack([left, right], 2).flatten(1, 2)  # channels in turn


def searched(s, name, x, stride=1):
    """Of MNASNet."""
    name = f"{name}.layers"
    y = s.both(f"{name}.0", f"{name}.1", x)
    y = s.both(f"{name}.3", f"{name}.4", y, stride, y.shape[1])
    y = s.norm(f"{name}.7", s.conv(f"{name}.6", y))
    return x + y if stride == 1 and x.shape == y.shape else y


# --------------------------------------------------------------------------------------------------- networks of them


def resnet(s, x, groups=1):
    x = s.f.max_pool2d(s.both("conv1", "bn1", x, 2), 3, 2, 1)
    for layer in (1, 2, 3, 4):
        for k in range(s.count(f"layer{layer}.#.")):
            x = residual(s, f"layer{layer}.{k}", x, 2 if layer > 1 and k == 0 else 1, groups)
    return s.linear("fc", x.mean((2, 3)))


def squeezenet(s, x):
    pools = (2, 6, 11) if s.tensors["features.0.weight"].shape[-1] == 7 else (2, 5, 8)  # version 1.0, or 1.1
    x = s.f.relu(s.conv("features.0", x, 2, 0))
    for k in range(2, 13):
        x = s.f.max_pool2d(x, 3, 2, ceil_mode=True) if k in pools else fire(s, f"features.{k}", x)
    return s.f.relu(s.conv("classifier.1", x)).mean((2, 3))


def mobilenet_v2(s, x):
    x = s.norm("features.0.1", s.conv("features.0.0", x, 2)).clamp(0, 6)
    for k in range(1, 18):
        x = inverted(s, f"features.{k}", x, 2 if k in (2, 4, 7, 14) else 1)
    x = s.norm("features.18.1", s.conv("features.18.0", x)).clamp(0, 6)
    return s.linear("classifier.1", x.mean((2, 3)))


def shufflenet_v2(s, x):
    x = s.f.max_pool2d(s.both("conv1.0", "conv1.1", x, 2), 3, 2, 1)
    for stage in (2, 3, 4):
        for k in range(s.count(f"stage{stage}.#.")):
            x = shuffled(s, f"stage{stage}.{k}", x, 2 if k == 0 else 1)
    return s.linear("fc", s.both("conv5.0", "conv5.1", x).mean((2, 3)))


def mnasnet(s, x):
    x = s.both("layers.0", "layers.1", x, 2)
    x = s.norm("layers.7", s.conv("layers.6", s.both("layers.3", "layers.4", x, groups=x.shape[1])))
    for layer in range(8, 14):
        for k in range(s.count(f"layers.{layer}.#.")):
            x = searched(s, f"layers.{layer}.{k}", x, 2 if k == 0 and layer not in (11, 13) else 1)
    return s.linear("classifier.1", s.both("layers.14", "layers.15", x).mean((2, 3)))
