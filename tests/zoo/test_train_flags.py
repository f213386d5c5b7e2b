"""Every flag of a training acts: with it, another training comes out, or a fact that the table names."""

import numpy as np
import pytest

import jt_edu as jt
from jt_edu import optim
from jt_edu.base.errors import ArgumentError
from jt_edu.capture.compiled_step import CompiledStep
from jt_edu.zoo import train
from jt_edu.zoo.training import feed, parts, source
from jt_edu.zoo.training.config import SETTINGS, configured
from jt_edu.zoo.training.run import Run

STEP = ("--sched", "step", "--warmup-epochs", "0", "--decay-epochs", "1")
OTHERS = {  # flag -> a value that changes what is learned, and flags beside which it does
    "model": (["resnet18"], ()), "num-classes": (["12"], ()), "drop": (["0.5"], ()), "smoothing": (["0.2"], ()),
    "batch-size": (["16"], ()), "img-size": (["6"], ()), "interpolation": (["nearest"], ("--img-size", "6")),
    "epochs": (["1"], ()), "lr": (["0.01"], ()), "warmup-lr": (["1e-3"], ()), "min-lr": (["1e-3"], ()),
    "warmup-epochs": (["0"], ()), "weight-decay": (["1.0"], ()), "clip-grad": (["0.01"], ("--opt", "sgd")),
    "clip-mode": (["value"], ("--opt", "sgd", "--clip-grad", "0.01")), "grad-accum-steps": (["2"], ()),
    "model-ema-decay": (["0.5"], ()), "opt": (["adam"], ()), "opt-eps": (["0.1"], ()),
    "opt-betas": (["0.5", "0.9"], ()),
    "momentum": (["0.5"], ("--opt", "momentum")), "sched": (["poly"], ()), "no-sched-on-updates": ([], ()),
    "decay-epochs": (["2"], STEP), "decay-rate": (["0.5"], STEP), "aa": (["rand-m9-n1"], ()),
    "color-jitter": (["0.4"], ()), "hflip": (["1.0"], ()), "vflip": (["1.0"], ()), "scale": (["0.3", "0.5"], ()),
    "ratio": (["2.0", "2.0"], ("--scale", "0.3", "0.5")), "reprob": (["1.0"], ()),
    "remode": (["const"], ("--reprob", "1.0")), "recount": (["3"], ("--reprob", "1.0")), "aug-repeats": (["2"], ()),
    "mixup": (["1.0"], ()), "cutmix": (["1.0"], ()), "mixup-prob": (["0.0"], ("--mixup", "1.0")),
    "mixup-switch-prob": (["1.0"], ("--mixup", "1.0", "--cutmix", "1.0")),
    "mixup-mode": (["elem"], ("--mixup", "1.0")), "amp": (["bfloat16"], ()), "seed": (["1"], ()),
    "initial-checkpoint": (["net.npz"], ()),
}  # fmt: skip
ELSEWHERE = {  # flags that change nothing of what is learned on these images: the test that sees them
    "resume": "test_train", "output": "test_train", "early-stop": "test_train",
    "drop-path": "test_drop_path_reaches_the_network", "dataset": "test_images_come_from_folders",
    "data-dir": "test_images_come_from_folders", "workers": "test_workers_make_the_same_batches",
    "checkpoint-every": "test_train", "compile": "test_a_compiled_step_learns_the_same",
}  # fmt: skip


def outcome(*flags):
    """What a short training gives."""
    history = train.main(["--epochs", "2", "--batch-size", "32", "--output", f"run{len(flags)}{hash(flags)}", *flags])
    return [history[column] for column in ("train_loss", "eval_loss", "eval_top1", "lr")]


@pytest.fixture
def here(tmp_path, monkeypatch, few):
    monkeypatch.chdir(tmp_path)
    jt.set_global_seed(7)
    jt.zoo.create_model("digits_cnn").save("net.npz")
    return tmp_path


@pytest.mark.parametrize("flag", OTHERS)
def test_a_flag_acts(here, flag):
    value, beside = OTHERS[flag]

    assert outcome(*beside, f"--{flag}", *value) != outcome(*beside)


def test_the_same_flags_give_the_same_outcome(here):
    """What the test above compares can be equal."""
    assert outcome("--seed", "3", "--hflip", "0.5") == outcome("--hflip", "0.5", "--seed", "3")


def test_every_flag_has_a_test():
    flags = {flag for _, flag, _ in SETTINGS.values()}
    assert {flag.removeprefix("no-") for flag in OTHERS} | ELSEWHERE.keys() == flags


@pytest.mark.parametrize(
    "more", [(), ("--clip-grad", "1"), ("--grad-accum-steps", "2", "--batch-size", "16"), ("--amp",)]
)
def test_a_compiled_step_learns_the_same(here, more):
    step = Run(configured(["--compile", *more, "--output", "c"])).step

    assert isinstance(step.graph, CompiledStep)
    np.testing.assert_allclose(outcome("--compile", *more)[0], outcome(*more)[0], rtol=1e-4)


def test_workers_make_the_same_batches(here):
    flags = ["--hflip", "0.5", "--output", "a"]
    run, alone = (Run(configured([*flags, "--workers", workers])) for workers in "10")

    assert run.train.num_workers == 1
    for (x, _), (y, _) in zip(run.train.epoch(3), alone.train.epoch(3), strict=True):
        np.testing.assert_array_equal(x.numpy(), y.numpy())
    run.train.terminate()


def test_drop_path_reaches_the_network():
    cfg = configured(["--model", "resnet18", "--drop-path", "0.5"])
    net, plain = (parts.network(c, source.named("digits")) for c in (cfg, configured(["--model", "resnet18"])))

    x = jt.rand(2, 1, 32, 32)
    assert np.array_equal(plain(x).numpy(), plain(x).numpy()) and not np.array_equal(net(x).numpy(), net(x).numpy())


def test_a_setting_that_the_network_does_not_take_is_named():
    with pytest.raises(
        ArgumentError, match=r"digits_cnn is made as the settings of MODEL say; found .*drop_path_rate"
    ) as refused:
        parts.network(configured(["--drop-path", "0.5"]), source.named("digits"))
    assert isinstance(refused.value.__cause__, TypeError)  # which says where, if it was another mistake


@pytest.mark.parametrize("inside", [("train", "val"), ("train", "validation"), ("",)])
def test_images_come_from_folders(tmp_path, rng, inside):
    pictures = pytest.importorskip("PIL.Image")
    for part in inside:
        for kind in ("cat", "dog"):
            folder = tmp_path / part / kind
            folder.mkdir(parents=True)
            for k in range(5):
                pixels = rng.integers(0, 255, (10, 12, 3)).astype("uint8")
                pictures.fromarray(pixels).save(folder / f"{k}.png")
    cfg = configured(["--dataset", f"folder:{tmp_path}", "--batch-size", "4", "--img-size", "8"])
    by_flag = configured(["--dataset", "folder:", "--data-dir", str(tmp_path)])

    found = source.named(cfg.DATA.DATASET, cfg.DATA.DATA_PATH)
    net = parts.network(cfg, found)
    (x, y), *_ = feed.feeds(cfg, found, net)[0].epoch(0)

    assert (
        list(found.classes)
        == list(source.named(by_flag.DATA.DATASET, by_flag.DATA.DATA_PATH).classes)
        == ["cat", "dog"]
    )
    assert (x.shape, y.shape, net(x).shape) == ((4, 3, 8, 8), (4,), (4, 2))
    assert found.held_out.total_len == (10 if len(inside) > 1 else 2)


@pytest.mark.parametrize("name", [*parts.OPTIMIZERS, "lookahead_sgd"])
def test_optimizers_move_by_their_own_rule(name, rng):
    """Biases and norms do not decay."""
    cfg = configured(["--opt", name, "--lr", "0.1", "--weight-decay", "0.5"])
    net = jt.nn.Linear(2, 3)

    made = parts.optimizer(cfg, net)

    assert [(len(g["params"]), g["weight_decay"], g["lr"]) for g in made.param_groups] == [(1, 0.5, 0.1), (1, 0.0, 0.1)]
    assert isinstance(made, optim.Lookahead) is name.startswith("lookahead")
    if name == "sgd":
        assert made.param_groups[0]["nesterov"] and made.param_groups[0]["momentum"] == 0.9


def rates(*flags, epochs=4, updates=2, found=(0.0,) * 9):
    """The learning rate of each update."""
    cfg = configured(["--lr", "1", "--min-lr", "0.1", "--warmup-lr", "0.5", "--epochs", f"{epochs}", *flags])
    optimizer = optim.SGD([jt.ones(1)], lr=1.0)
    schedule, seen = parts.schedule(cfg, optimizer, updates), []
    for epoch in range(epochs):
        for _ in range(updates):
            seen.append(round(optimizer.lr, 4))
            if cfg.TRAIN.LR_SCHEDULER.ON_UPDATES and cfg.TRAIN.LR_SCHEDULER.NAME != "plateau":
                schedule.step()
        if cfg.TRAIN.LR_SCHEDULER.NAME == "plateau":
            schedule.step(found[epoch])
        elif not cfg.TRAIN.LR_SCHEDULER.ON_UPDATES:
            schedule.step()
    return seen


@pytest.mark.parametrize(
    ("flags", "wanted"),
    [
        ("--sched none", [0.5, 0.75, 1, 1, 1, 1, 1, 1]),
        ("--sched none --no-sched-on-updates", [0.5, 0.5, 1, 1, 1, 1, 1, 1]),
        ("--sched step --decay-epochs 1 --decay-rate 0.5 --warmup-epochs 0",
         [1, 1, 0.5, 0.5, 0.25, 0.25, 0.125, 0.125]),
        ("--sched poly --warmup-epochs 0", [1, 0.875, 0.75, 0.625, 0.5, 0.375, 0.25, 0.125]),
        ("--sched plateau --decay-epochs 1 --decay-rate 0.5 --warmup-epochs 0", [1, 1, 1, 1, 1, 1, 0.5, 0.5]),
        ("--sched cosine --warmup-epochs 0 --epochs 2 --no-sched-on-updates", [1, 1, 0.55, 0.55, 0.1, 0.1, 0.1, 0.1]),
    ],
)  # fmt: skip
def test_rates_follow_the_schedule_that_is_named(flags, wanted):
    np.testing.assert_allclose(rates(*flags.split()), wanted, atol=1e-4)


@pytest.mark.parametrize(("mode", "wanted"), [("norm", [[0.6, 0.8]]), ("value", [[1.0, 1.0]]), ("agc", [[3.0, 4.0]])])
def test_gradients_are_clipped_in_three_ways(mode, wanted):
    """The weights are as long as the gradient is, so that beside them it is no too long one."""
    p = jt.array([[3.0, 4.0]])
    (p * p / 2).sum().backward()

    parts.clip([p], mode, 1.0)

    np.testing.assert_allclose(p.grad.numpy(), wanted, rtol=1e-5)


def test_agc_is_timms(rng, timm):
    torch = pytest.importorskip("torch")
    from timm.utils.agc import adaptive_clip_grad  # noqa: PLC0415 - behind the fixture that imports it

    w, g = (rng.standard_normal((3, 2, 2, 2)).astype("float32") for _ in range(2))
    theirs = torch.nn.Parameter(torch.tensor(w))
    theirs.grad = torch.tensor(g)
    ours = jt.array(w)
    ours.grad = jt.array(g)

    adaptive_clip_grad([theirs], 0.3)
    parts.clip([ours], "agc", 0.3)

    np.testing.assert_allclose(ours.grad.numpy(), theirs.grad.numpy(), rtol=1e-5)


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        (["--lr", "-1"], "TRAIN.BASE_LR as a finite number from 0; found TRAIN.BASE_LR=-1.0"),
        (["--drop", "2"], "MODEL.DROP_RATE"),
        (["--batch-size", "0"], "DATA.BATCH_SIZE"),
        (["--opts", "TRAIN.EPOCH", "3"], "found 'TRAIN.EPOCH'. Try: TRAIN.EPOCHS"),
        (["--opts", "EPOCHS", "3"], "found 'EPOCHS'. Try: TRAIN.EPOCHS"),
        (["--config", "none.yaml"], "none.yaml"),
        (["--opts", "TRAIN.BASE_LR", "one"], "TRAIN.BASE_LR keeps its type"),
        (["--resume", "none.npz"], "no file 'none.npz'"),
    ],
)
def test_settings_that_make_no_sense_are_refused(flags, said, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    with pytest.raises((ArgumentError, FileNotFoundError)) as error:
        configured(flags)

    assert said in str(error.value)


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        (["--opt", "adma"], "--opt"), (["--sched", "cos"], "--sched"), (["--amp", "int8"], "--amp"),
        (["--dataset", "digit"], "Try: digits"), (["--batch-size", "64", "--grad-accum-steps", "2"], "enough batches"),
        (["--opts", "MODEL.TYPE", "vit"], "MODEL.TYPE"),
    ],
)  # fmt: skip
def test_a_run_that_cannot_begin_says_why(flags, said, few, tmp_path, monkeypatch):
    monkeypatch.setattr("jt_edu.zoo.training.run.named", source.named) if "--dataset" in flags else None

    with pytest.raises(ArgumentError) as error:
        Run(configured([*flags, "--output", str(tmp_path)]))

    assert said in str(error.value)


SWIN = """
DATA:
  IMG_SIZE: {size}
MODEL:
  TYPE: swin
  NAME: {name}
  DROP_PATH_RATE: 0.5
  SWIN:
    EMBED_DIM: {width}
    DEPTHS: {depths}
    NUM_HEADS: {heads}
    WINDOW_SIZE: {window}
"""


@pytest.mark.parametrize("name", ["swin_base_patch4_window12_384", "swin_of_mine"])
def test_the_file_of_swin_makes_its_network(tmp_path, name):
    """The sizes are those of the file, whether the zoo knows the name or not."""
    sizes = {"size": 384, "width": 128, "depths": [2, 2, 18, 2], "heads": [4, 8, 16, 32], "window": 12}
    (tmp_path / "swin.yaml").write_text(SWIN.format(name=name, **sizes))

    net = parts.network(configured(["--config", f"{tmp_path}/swin.yaml"]), source.Source(None, None, range(1000)))

    assert sum(p.size for p in net.parameters()) == 87_903_584


def test_a_small_swin_reads_small_images(tmp_path):
    sizes = {"size": 32, "width": 8, "depths": [1, 1], "heads": [1, 2], "window": 4}
    (tmp_path / "swin.yaml").write_text(SWIN.format(name="swin_of_mine", **sizes))

    net = parts.network(configured(["--config", f"{tmp_path}/swin.yaml"]), source.named("digits"))

    assert net(jt.ones(1, 1, 32, 32)).shape == (1, 10)
