"""Files of parameters: arrays are read, programs are not."""

import pickle
import zipfile

import numpy as np
import pytest

import jt_edu as jt
from jt_edu import nn


class Evil:
    """What a stranger's pickle may be."""

    def __reduce__(self):
        return open, ("here_i_was", "w")


@pytest.mark.parametrize("form", ["pickle", "zip"])
def test_a_pickle_is_not_run_and_the_error_says_how_its_arrays_are_had(form, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    file = tmp_path / "net.pth"
    if form == "pickle":
        file.write_bytes(pickle.dumps({"weight": Evil()}))
    else:
        with zipfile.ZipFile(file, "w") as archive:
            archive.writestr("net/data.pkl", pickle.dumps({"weight": Evil()}))

    with pytest.raises(
        jt.ArgumentError, match=r"never pickled objects(.|\n)*torch\.load\('.*net\.pth', weights_only=True"
    ):
        nn.Linear(3, 2).load(file)

    assert not (tmp_path / "here_i_was").exists()


@pytest.mark.parametrize("zipped", [True, False])
def test_what_the_error_tells_to_write_makes_a_file_that_is_read(zipped, tmp_path, monkeypatch, torch):
    monkeypatch.chdir(tmp_path)
    theirs, ours = torch.nn.Linear(3, 2), nn.Linear(3, 2)
    torch.save(theirs.state_dict(), "net.pth", _use_new_zipfile_serialization=zipped)
    with pytest.raises(jt.ArgumentError) as caught:
        ours.load("net.pth")

    eval(str(caught.value).partition("Try: ")[2].splitlines()[0].removesuffix("."), {"np": np, "torch": torch})  # noqa: S307
    ours.load("arrays.npz")

    np.testing.assert_array_equal(ours.weight.numpy(), theirs.weight.detach().numpy())


def test_another_file_that_is_no_archive_is_told_so(tmp_path):
    (tmp_path / "net.npz").write_text("weights")

    with pytest.raises(jt.ArgumentError, match=r"read from an \.npz file"):
        nn.Linear(3, 2).load(tmp_path / "net.npz")
