"""Measuring by name: what comes out agrees with counting by hand, alone and on several ranks."""

import csv

import numpy as np
import pytest

import jt_edu as jt
from jt_edu.base.errors import ArgumentError
from jt_edu.zoo import train, validate
from jt_edu.zoo.training import checkpoint
from jt_edu.zoo.training.measure import measured


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """The folder of a training that kept averages."""
    folder = tmp_path_factory.mktemp("run")
    flags = ["--epochs", "1", "--batch-size", "256", "--model-ema-decay", "0.5", "--output", str(folder)]
    return folder, train.main(flags)


def test_what_was_measured_while_training_is_measured_again(run, capsys):
    folder, history = run

    found = validate.main(["--checkpoint", str(folder / "last.npz")])

    assert (found.top1, found.top5, found.images) == (history["eval_top1"][0], history["eval_top5"][0], 360)
    np.testing.assert_allclose(found.loss, history["eval_loss"][0], rtol=1e-6)
    assert f"top1 {found.top1:.2f}  top5 {found.top5:.2f}  360 images" in capsys.readouterr().out


def test_the_weights_are_others_than_their_averages(run):
    last = str(run[0] / "last.npz")

    assert validate.main(["--checkpoint", last]).loss != validate.main(["--checkpoint", last, "--no-ema"]).loss


def test_a_network_without_a_file_has_the_weights_of_its_seed():
    losses = [validate.main(["--batch-size", "360", "--seed", seed]).loss for seed in "334"]

    assert losses[0] == losses[1] != losses[2]


def test_tables_are_written(run, tmp_path):
    files = [tmp_path / "classes.csv", tmp_path / "confusion.csv"]
    flags = ["--checkpoint", str(run[0] / "last.npz"), "--per-class", str(files[0]), "--confusion", str(files[1])]

    found = validate.main(flags)

    classes, confusion = (list(csv.reader(file.read_text().splitlines())) for file in files)
    assert classes[0] == ["class", "images", "percent"] and [row[0] for row in classes[1:]] == list("0123456789")
    assert sum(int(row[1]) for row in classes[1:]) == 360
    counts = np.array([row[1:] for row in confusion[1:]], int)
    assert counts.sum() == 360 and 100 * counts.trace() / 360 == pytest.approx(found.top1)


@pytest.mark.parametrize("size", [2, 3])
def test_ranks_share_the_images(run, size):
    flags = ["--checkpoint", str(run[0] / "last.npz"), "--batch-size", "50"]
    alone = validate.main(flags)

    for found in jt.simulate(size)(lambda: validate.main(flags)):
        np.testing.assert_array_equal(found.confusion, alone.confusion)
        np.testing.assert_allclose(found.loss, alone.loss, rtol=1e-6)


def test_weights_alone_are_measured_too(run, tmp_path):
    state = jt.load(run[0] / "last.npz")
    jt.save(state["state_dict_ema"], tmp_path / "net.pth")

    by_name = validate.main(["--model", "digits_cnn", "--checkpoint", str(tmp_path / "net.pth"), "--batch-size", "256"])

    assert by_name.top1 == validate.main(["--checkpoint", str(run[0] / "last.npz")]).top1


def test_right_answers_are_counted_by_hand():
    """First, fifth, behind nan and two equal ones, and sixth among equals."""
    scores = jt.array([[0, 1, 2, 3, 4, 5, 6.0], [6, 5, 4, 3, 2, 1, 0], [0, 0, 0, 0, 0, 0, np.nan], [0.0] * 7])
    labels = jt.array([6, 4, 2, 5])

    found = measured(jt.nn.Identity(), [(scores, labels)], list("abcdefg"))

    assert (found.top1, found.top5) == (25.0, 75.0)
    assert found.confusion[6, 6] == found.confusion[4, 0] == found.confusion[5, 0] == 1
    assert found.per_class[6] == ("g", 1, 100.0)


@pytest.mark.parametrize("damage", ["cut", "flipped", "other"])
def test_a_damaged_checkpoint_is_refused_in_words(run, tmp_path, damage):
    whole, path = bytearray((run[0] / "last.npz").read_bytes()), tmp_path / "last.npz"
    if damage == "flipped":
        whole[len(whole) // 2] ^= 255
    path.write_bytes({"cut": whole[:5000], "flipped": whole, "other": b"{}"}[damage])

    for use in (lambda: validate.main(["--checkpoint", str(path)]), lambda: train.main(["--resume", str(path)])):
        with pytest.raises(ArgumentError, match=r"last\.npz"):
            use()


def test_weights_of_another_network_are_refused(run):
    with pytest.raises(jt.JtError, match=r"ResNet|Backbone"):
        validate.main(["--model", "resnet18", "--checkpoint", str(run[0] / "last.npz")])


def test_files_that_are_not_there_are_told(tmp_path):
    with pytest.raises(ArgumentError, match=r"no file 'none\.npz'"):
        validate.main(["--checkpoint", "none.npz"])
    jt.save({"w": jt.ones(1)}, tmp_path / "w.npz")
    with pytest.raises(ArgumentError, match="without config"):
        checkpoint.read(tmp_path / "w.npz")
    with pytest.raises(ArgumentError, match="a table is written to a file"):
        validate.main(["--batch-size", "360", "--per-class", str(tmp_path / "no" / "such.csv")])


def test_the_settings_of_a_checkpoint_hold_unless_a_flag_wins(run):
    with pytest.raises(ArgumentError, match=r"DATA\.BATCH_SIZE"):
        validate.main(["--checkpoint", str(run[0] / "last.npz"), "--batch-size", "0"])
    assert checkpoint.settings_of(jt.load(run[0] / "last.npz")).DATA.BATCH_SIZE == 256
