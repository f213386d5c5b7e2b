"""Training by name: it learns, goes on after a kill as if nothing had been, and is the same on several ranks."""

import math
import os
import re
import signal
import subprocess
import sys
import textwrap
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

import jt_edu as jt
from jt_edu.base.errors import ArgumentError
from jt_edu.nn import serialization as files
from jt_edu.zoo import train, validate
from jt_edu.zoo.training import parts, step
from jt_edu.zoo.training.config import configured
from jt_edu.zoo.training.folder import Folder
from jt_edu.zoo.training.run import DivergedError, Run

ALL_OF_IT = (  # everything that a checkpoint has to remember
    "--model-ema-decay", "0.9", "--drop", "0.2", "--opt", "lookahead_adamw", "--clip-grad", "1", "--mixup", "0.5",
    "--hflip", "0.5", "--grad-accum-steps", "2", "--sched", "step", "--decay-epochs", "1", "--amp", "float16",
)  # fmt: skip


def differences(a, b, way=""):
    """The ways to all that differs in two checkpoints, to the last bit."""
    if isinstance(a, dict):
        return {way} if a.keys() != b.keys() else {d for k in a for d in differences(a[k], b[k], f"{way}.{k}")}
    if isinstance(a, (list, tuple)):
        return {d for k, (x, y) in enumerate(zip(a, b, strict=True)) for d in differences(x, y, f"{way}.{k}")}
    same = a.numpy().tobytes() == b.numpy().tobytes() if isinstance(a, jt.Var) else np.array_equal(a, b)
    return set() if same else {way}


def told_apart(folder, other):
    """The same for the last checkpoints in two folders, but for where they are and how long they took."""
    found = differences(jt.load(folder / "last.npz"), jt.load(other / "last.npz"))
    return {way for way in found if "seconds" not in way and way != ".config"}


def test_it_learns_to_read_digits(tmp_path):
    history = train.main(["--epochs", "5", "--output", str(tmp_path)])

    assert history.best["eval_top1"] >= 97
    assert len(history) == 5


@pytest.mark.parametrize(("more", "at"), [((), 5), (ALL_OF_IT, 3), (("--workers", "1", "--aa", "rand-m5"), 4)])
def test_killed_and_resumed_it_is_as_if_nothing_had_been(tmp_path, more, at):
    """SIGKILL comes in the middle of an epoch, between two checkpoints."""
    one, other = tmp_path / "one", tmp_path / "other"
    flags = ["--epochs", "2", "--batch-size", "256", "--checkpoint-every", "2", *more]
    program = f"""
        import os, signal, sys
        from jt_edu.zoo import train
        from jt_edu.zoo.training.run import Run
        done, updated = [], Run._updated
        def until(self, batches):
            done.append(0)
            if len(done) > {at}:
                os.kill(os.getpid(), signal.SIGKILL)
            return updated(self, batches)
        if __name__ == "__main__":
            Run._updated = until
            train.main(sys.argv[1:])
    """
    script = tmp_path / "killed.py"
    script.write_text(textwrap.dedent(program))

    train.main([*flags, "--output", str(one)])
    ended = subprocess.run([sys.executable, script, *flags, "--output", str(other)], check=False)
    train.main(["--resume", str(other / "last.npz")])

    assert ended.returncode == -signal.SIGKILL
    assert told_apart(one, other) == set()


def test_another_seed_is_told_apart(tmp_path, few):
    """The comparison above can fail."""
    for seed in "12":
        train.main(["--epochs", "1", "--seed", seed, "--output", str(tmp_path / seed)])

    assert ".state_dict.conv1.weight" in told_apart(tmp_path / "1", tmp_path / "2")


@pytest.mark.parametrize("more", [(), ("--grad-accum-steps", "2", "--clip-grad", "1", "--hflip", "0.5")])
def test_on_several_ranks_the_losses_are_the_same(tmp_path, few, more):
    flags = ["--epochs", "2", "--batch-size", "16", *more]
    alone = train.main([*flags, "--output", str(tmp_path / "1")])

    for size in (2, 4):
        for history in jt.simulate(size)(lambda size=size: train.main([*flags, "--output", str(tmp_path / f"{size}")])):
            for column in ("train_loss", "eval_loss", "eval_top1", "lr"):
                np.testing.assert_allclose(history[column], alone[column], rtol=1e-4)


def test_each_rank_has_its_share_of_a_batch(tmp_path, few):
    def first():
        images, labels = next(Run(configured(["--batch-size", "16", "--output", str(tmp_path)])).train.epoch(0))
        return images.numpy(), labels.tolist()

    whole, labels = first()
    shares = jt.simulate(3)(first)

    assert [len(images) for images, _ in shares] == [6, 5, 5]
    np.testing.assert_array_equal(np.concatenate([images for images, _ in shares]), whole)
    assert [label for _, some in shares for label in some] == labels


def test_a_run_on_two_ranks_goes_on_alone(tmp_path, few, monkeypatch):
    flags = ["--epochs", "2", "--batch-size", "16", "--checkpoint-every", "2", "--output"]
    whole, updated = train.main([*flags, str(tmp_path / "1")]), Run._updated

    def until(self, batches):
        if (self.epoch, self.update) == (1, 3):
            raise OSError("the machine is gone")
        return updated(self, batches)

    with monkeypatch.context() as patch:
        patch.setattr(Run, "_updated", until)
        with pytest.raises(jt.JtError, match="the machine is gone"):
            jt.simulate(2)(lambda: train.main([*flags, str(tmp_path / "2")]))
    assert jt.load(tmp_path / "2" / "last.npz")["place"]["update"] == 2
    history = train.main(["--resume", str(tmp_path / "2" / "last.npz")])

    np.testing.assert_allclose(history["train_loss"], whole["train_loss"], rtol=1e-4)


def test_a_file_and_flags_say_the_same(tmp_path, few):
    told = "TRAIN:\n  EPOCHS: 1\n  BASE_LR: 0.01\n  OPTIMIZER:\n    NAME: sgd\nDATA:\n  BATCH_SIZE: 32\n"
    (tmp_path / "run.yaml").write_text(told)

    by_file = train.main(["--config", str(tmp_path / "run.yaml"), "--output", str(tmp_path / "a")])
    by_flags = train.main([*"--epochs 1 --lr 0.01 --opt sgd --batch-size 32 --output".split(), str(tmp_path / "b")])
    by_itself = train.main(["--config", str(tmp_path / "a" / "config.yaml"), "--output", str(tmp_path / "c")])

    assert len(by_file) == len(by_flags) == len(by_itself) == 1
    assert told_apart(tmp_path / "a", tmp_path / "b") == told_apart(tmp_path / "a", tmp_path / "c") == set()


def test_flags_win_over_pairs_over_the_file_over_its_base(tmp_path):
    (tmp_path / "base.yaml").write_text("SEED: 1\nTRAIN:\n  EPOCHS: 1\n  PATIENCE: 1\n  CLIP_GRAD: 1.0\n")
    (tmp_path / "run.yaml").write_text("BASE: [base.yaml]\nTRAIN:\n  EPOCHS: 2\n  PATIENCE: 2\n  CLIP_GRAD: 2.0\n")

    cfg = configured(
        [
            "--config",
            f"{tmp_path}/run.yaml",
            "--clip-grad",
            "4",
            "--opts",
            "TRAIN.PATIENCE",
            "3",
            "TRAIN.CLIP_GRAD",
            "3.0",
        ]
    )

    assert (cfg.SEED, cfg.TRAIN.EPOCHS, cfg.TRAIN.PATIENCE, cfg.TRAIN.CLIP_GRAD) == (1, 2, 3, 4.0)


def test_the_folder_of_a_run_has_a_row_for_each_epoch(tmp_path, few):
    history = train.main(["--epochs", "2", "--output", str(tmp_path)])

    head, *rows = (tmp_path / "history.csv").read_text().splitlines()
    assert head == "epoch,train_loss,eval_loss,eval_top1,eval_top5,lr,seconds"
    assert [float(row.split(",")[1]) for row in rows] == history["train_loss"]
    assert sorted(p.name for p in tmp_path.iterdir()) == ["best.npz", "config.yaml", "history.csv", "last.npz"]


def test_curves_are_drawn_of_a_history(tmp_path, few):
    history = train.main(["--epochs", "2", "--output", str(tmp_path)])

    picture = history._repr_html_()

    assert picture.startswith("<svg") and "validation" in picture and "accuracy" in picture
    assert ">epoch</text>" in picture and ">step</text>" not in picture
    assert repr(history).splitlines()[0] == "digits_cnn on digits"


def test_only_rank_0_writes_and_speaks(tmp_path, few, capsys, monkeypatch):
    writers = []
    save = Run.state
    monkeypatch.setattr(Run, "state", lambda self: writers.append(jt.rank) or save(self))

    jt.simulate(2)(lambda: train.main(["--epochs", "1", "--batch-size", "32", "--output", str(tmp_path)]))

    assert set(writers) == {0}
    assert capsys.readouterr().err.count("eval loss") == 1


def test_without_a_folder_a_run_takes_the_next_one(tmp_path, few, monkeypatch):
    monkeypatch.chdir(tmp_path)

    for _ in range(2):
        train.main(["--epochs", "1"])

    assert sorted(map(str, Path("runs").iterdir())) == ["runs/digits_cnn-1", "runs/digits_cnn-2"]


def test_an_interrupt_saves_and_says_how_to_go_on(tmp_path, few, capsys, monkeypatch):
    flags = ["--epochs", "2", "--batch-size", "16", "--output"]
    updated = Run._updated

    def interrupted(self, batches):
        if self.update == 2:
            os.kill(os.getpid(), signal.SIGINT)
        return updated(self, batches)

    with monkeypatch.context() as patch:
        patch.setattr(Run, "_updated", interrupted)
        with pytest.raises(KeyboardInterrupt):
            train.main([*flags, str(tmp_path / "a")])
    last = tmp_path / "a" / "last.npz"
    assert f"--resume {last}" in capsys.readouterr().err
    assert jt.load(last)["place"]["update"] == 3

    train.main(["--resume", str(last)])
    train.main([*flags, str(tmp_path / "b")])
    assert told_apart(tmp_path / "a", tmp_path / "b") == set()


def test_a_full_disk_loses_nothing(tmp_path, few, capsys, monkeypatch):
    """The checkpoint before stays whole, training goes on, and the next checkpoint is written when there is room."""
    saved, calls = files.save, []

    def full(value, path):
        calls.append(value["place"]["epoch"])
        if calls[-1] == 2:
            raise OSError(28, "No space left on device")
        saved(value, path)

    monkeypatch.setattr(files, "save", full)
    tell = Folder.tell
    monkeypatch.setattr(Folder, "tell", lambda self, *told: calls.append(self.last.exists()) or tell(self, *told))
    train.main(["--epochs", "3", "--output", str(tmp_path)])

    assert "no checkpoint: [Errno 28] No space left on device. The one before is whole" in capsys.readouterr().err
    assert calls.index(2) < calls.index(3) and calls.count(False) == 1
    assert jt.load(tmp_path / "last.npz")["place"]["epoch"] == 3


def test_a_run_whose_last_checkpoint_was_not_written_ends_with_an_error(tmp_path, few, monkeypatch):
    monkeypatch.setattr(files, "save", lambda *_: (_ for _ in ()).throw(OSError(28, "No space left on device")))

    with pytest.raises(ArgumentError, match="No space left"):
        train.main(["--epochs", "1", "--output", str(tmp_path)])


def test_a_folder_that_cannot_be_written_is_told_before_the_first_update(tmp_path, few, monkeypatch):
    (tmp_path / "file").write_text("")
    monkeypatch.setattr(Run, "_updated", lambda *_: pytest.fail("an update was made"))

    with pytest.raises(ArgumentError, match="a run has a folder to write to"):
        train.main(["--epochs", "1", "--output", str(tmp_path / "file" / "run")])


def test_a_run_is_not_overwritten_by_another(tmp_path, few):
    flags = ["--epochs", "1", "--output", str(tmp_path)]
    train.main(flags)

    with pytest.raises(ArgumentError, match="a run begins in a folder without one"):
        train.main(flags)
    with pytest.raises(jt.JtError, match="a run begins in a folder without one"):
        jt.simulate(2)(lambda: train.main(flags))


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        (["--model", "resnet18"], "a checkpoint of digits_cnn for resnet18"),
        (["--batch-size", "16"], "epochs of 1 update for epochs of 4"),
        (["--model-ema-decay", "0.9"], "one without state_dict_ema"),
        (["--num-classes", "12"], r"head.fc.weight of shape \(10, 64\)"),
    ],
)
def test_a_checkpoint_of_another_run_is_refused(tmp_path, few, flags, said):
    train.main(["--epochs", "1", "--output", str(tmp_path)])
    before = (tmp_path / "last.npz").read_bytes()

    with pytest.raises(jt.JtError, match=said):
        train.main(["--resume", str(tmp_path / "last.npz"), "--epochs", "2", *flags])

    assert (tmp_path / "last.npz").read_bytes() == before


def test_a_notebook_sees_the_curves_grow(tmp_path, few, monkeypatch):
    shown = []
    place = SimpleNamespace(update=lambda history: shown.append(len(history)))
    display = SimpleNamespace(display=lambda history, display_id: shown.append(len(history)) or place)
    shell = SimpleNamespace(kernel=1)
    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=lambda: shell, display=display))

    train.main(["--epochs", "3", "--output", str(tmp_path)])

    assert shown == [1, 2, 3]


def test_early_stop_counts_epochs_without_a_better_one(tmp_path, few):
    history = train.main(["--epochs", "9", "--lr", "0", "--early-stop", "2", "--output", str(tmp_path)])

    assert len(history) == 3


def test_a_resumed_run_takes_new_settings_and_says_so(tmp_path, few, capsys):
    train.main(["--epochs", "1", "--output", str(tmp_path)])

    history = train.main(["--resume", str(tmp_path / "last.npz"), "--epochs", "3", "--weight-decay", "0.5"])

    assert len(history) == 3 and history["lr"][1] > history["lr"][2]
    told = capsys.readouterr().err
    assert "TRAIN.EPOCHS is 3 from here on, and was 1" in told and "TRAIN.WEIGHT_DECAY is 0.5" in told
    saved = jt.load(tmp_path / "last.npz")
    assert saved["optimizer"]["param_groups"][0]["weight_decay"] == 0.5


def test_a_run_that_is_done_says_so_when_it_is_resumed(tmp_path, few, capsys):
    flags = ["--epochs", "1", "--output", str(tmp_path)]
    train.main(flags)
    capsys.readouterr()
    train.main(["--resume", str(tmp_path / "last.npz")])

    said = capsys.readouterr()
    assert "epoch 1 of 1 is done; --epochs asks for more" in said.out + said.err


def test_a_run_goes_on_on_two_ranks_as_on_one(tmp_path, few):
    """Optimizer, batch norm and its messages, from a file, for several steps."""
    train.main(["--epochs", "1", "--batch-size", "16", "--output", str(tmp_path / "one")])
    more = ["--resume", str(tmp_path / "one/last.npz"), "--epochs", "2", "--output"]
    alone = train.main([*more, str(tmp_path / "alone")])

    for history in jt.simulate(2)(lambda: train.main([*more, str(tmp_path / "two")])):
        assert history.rows[1]["train_loss"] == pytest.approx(alone.rows[1]["train_loss"], rel=1e-4)


def test_the_program_runs_by_itself_and_on_ranks(tmp_path):
    flags = ["--epochs", "1", "--batch-size", "512"]
    for k, start in enumerate([[], ["jt_edu.launch", "-np", "2", "-m"]]):
        command = [sys.executable, "-m", *start, "jt_edu.zoo.train", *flags, "--output", str(tmp_path / f"{k}")]
        assert subprocess.run(command, check=False).returncode == 0

    losses = [jt.load(tmp_path / f"{k}" / "last.npz")["place"]["rows"][0]["train_loss"] for k in range(2)]
    np.testing.assert_allclose(*losses, rtol=1e-4)


# ---------------------------------------------------------------------------------- what cannot go on, or cannot begin


def breaking(monkeypatch, at, value=math.nan):
    """From update `at` (epoch, update) on losses are no numbers."""
    made = step.Step.__call__

    def broken(self, *batches):
        loss, place = made(self, *batches), (run_of[0].epoch, run_of[0].update)
        return value if place >= at else loss

    run_of, train_all = [], Run.train_all
    monkeypatch.setattr(Run, "train_all", lambda self: run_of.append(self) or train_all(self))
    monkeypatch.setattr(step.Step, "__call__", broken)


@pytest.mark.parametrize("value", [math.nan, math.inf])
def test_a_loss_that_is_no_number_ends_a_training_and_spoils_nothing(tmp_path, few, monkeypatch, value):
    flags = ["--batch-size", "16", "--checkpoint-every", "1", "--output", str(tmp_path)]
    train.main(["--epochs", "2", *flags])
    before = {name: (tmp_path / name).read_bytes() for name in ("best.npz", "last.npz", "history.csv")}
    breaking(monkeypatch, (2, 0), value)

    with pytest.raises(DivergedError) as error:
        train.main(["--resume", str(tmp_path / "last.npz"), "--epochs", "3"])

    said = f"found {value} at update 1 of 4 in epoch 3. Try: --lr 0.0003, --clip-grad 1 or a longer --warmup-epochs"
    assert said in str(error.value) and f"--resume {tmp_path / 'last.npz'}" in str(error.value)
    assert {name: (tmp_path / name).read_bytes() for name in before} == before


@pytest.mark.parametrize("more", [(), ("--clip-grad", "1e9"), ("--compile",), ("--amp", "bfloat16")])
def test_weights_that_blow_up_are_never_written(tmp_path, few, more):
    """The first losses are finite still, and the weights behind them are not."""
    flags = ["--epochs", "2", "--batch-size", "16", "--opt", "momentum", "--lr", "1e20", "--warmup-epochs", "0", *more]

    with pytest.raises(DivergedError, match="in epoch 1"):
        train.main([*flags, "--checkpoint-every", "1", "--output", str(tmp_path)])

    for kept in tmp_path.glob("*.npz"):
        assert all(np.isfinite(v.numpy()).all() for v in jt.load(kept)["state_dict"].values() if v.dtype.is_float)
    assert not (tmp_path / "best.npz").exists()


def test_a_network_that_is_nan_on_what_was_held_out_is_no_best_one(tmp_path, few, monkeypatch):
    monkeypatch.setattr("jt_edu.zoo.training.run.measured", lambda *_: SimpleNamespace(loss=math.nan, top1=100.0))

    with pytest.raises(DivergedError, match="nan for the images held out, after epoch 1"):
        train.main(["--epochs", "2", "--output", str(tmp_path)])

    assert sorted(p.name for p in tmp_path.iterdir()) == ["config.yaml"]


def test_all_ranks_end_when_a_training_diverges(tmp_path, few):
    flags = ["--epochs", "2", "--batch-size", "16", "--lr", "1e20", "--opt", "momentum", "--warmup-epochs", "0"]

    with pytest.raises(jt.JtError, match="a training has losses that are finite numbers"):
        jt.simulate(2)(lambda: train.main([*flags, "--output", str(tmp_path)]))


def test_the_program_says_that_it_diverged_and_ends_with_a_code(tmp_path):
    command = [sys.executable, "-m", "jt_edu.zoo.train", "--lr", "1e30", "--opt", "sgd", "--warmup-epochs", "0"]
    ended = subprocess.run([*command, "--output", tmp_path], check=False, capture_output=True, text=True)

    assert ended.returncode == 2
    assert "DivergedError: a training has losses that are finite numbers; found nan at update" in ended.stderr


@pytest.mark.parametrize(
    ("flags", "ranks", "said"),
    [
        (["--mixup", "0.2", "--batch-size", "15"], 1, "found batches of 15. Try: --batch-size 14 or 16"),
        (["--cutmix", "1", "--batch-size", "1"], 1, "found batches of 1. Try: --batch-size 2"),
        (["--mixup", "0.2", "--batch-size", "16"], 3, "found batches of 16 for 3 ranks. Try: --batch-size 12 or 18"),
        (["--mixup", "0.2", "--batch-size", "80"], 3, "found batches of 80 for 3 ranks"),
    ],
)
def test_batches_with_an_image_that_has_no_partner_are_refused_before_images_are_read(
    tmp_path, few, monkeypatch, flags, ranks, said
):
    monkeypatch.setattr("jt_edu.zoo.training.run.named", lambda *_: pytest.fail("images were read"))

    with pytest.raises(jt.JtError, match=re.escape(said)):
        jt.simulate(ranks)(lambda: train.main([*flags, "--output", str(tmp_path)]))


def test_fewer_images_than_a_batch_have_partners_or_are_refused(tmp_path, few, monkeypatch):
    monkeypatch.setattr(parts, "network", lambda *_: pytest.fail("a network was made"))
    monkeypatch.setattr("jt_edu.zoo.training.run.count_examples", lambda _: 63)

    with pytest.raises(ArgumentError, match="mixup gives each image of a batch a partner; found batches of 63"):
        train.main(["--mixup", "0.2", "--batch-size", "64", "--output", str(tmp_path)])


def test_fewer_scores_than_classes_are_refused_before_a_network_is_made(tmp_path, few, monkeypatch):
    monkeypatch.setattr(parts, "create_model", lambda *_, **__: pytest.fail("a network was made"))

    for main in (train.main, validate.main):
        with pytest.raises(ArgumentError, match=r"each of 10 classes; found --num-classes 9\. Try: --num-classes 10"):
            main(["--num-classes", "9"])


def test_a_validation_takes_one_image_at_a_time_after_a_training_with_mixup(tmp_path):
    train.main(["--epochs", "1", "--mixup", "0.2", "--batch-size", "512", "--output", str(tmp_path)])

    assert validate.main(["--checkpoint", str(tmp_path / "last.npz"), "--batch-size", "45"]).images == 360


def test_curves_count_epochs(tmp_path, few):
    picture = train.main(["--epochs", "2", "--output", str(tmp_path)])._repr_html_()

    assert ">epoch<" in picture and ">step<" not in picture
