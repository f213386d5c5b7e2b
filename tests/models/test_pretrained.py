"""Published weights: from a folder, from the network, or an error that says what to do; random ones, never."""

import hashlib
import io
import urllib.request
from email.message import Message
from http.client import IncompleteRead
from types import SimpleNamespace

import numpy as np
import pytest

import jt_edu as jt
from jt_edu import models
from jt_edu.models import published
from jt_edu.models.weights import variant
from jt_edu.nn.weight_files.torch_writer import write

BUILDERS = sorted(name for name in models.__all__ if name.islower())


@pytest.fixture
def cache(tmp_path, monkeypatch):
    """The folder that is looked at first; a machine without a network; and a file in place of squeezenet1_1's."""
    monkeypatch.setenv("JT_EDU_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("TORCH_HOME", str(tmp_path / "torch"))
    monkeypatch.setattr(urllib.request, "urlopen", lambda *_, **__: refuse(OSError("no route to host")))
    state = {name: np.full(var.shape, 0.5, np.float32) for name, var in models.squeezenet1_1().state_dict().items()}
    write(tmp_path / "all.pth", state)
    content = (tmp_path / "all.pth").read_bytes()
    name = f"squeezenet1_1-{hashlib.sha256(content).hexdigest()[:8]}"
    monkeypatch.setitem(published.FILES, "squeezenet1_1", name)
    return SimpleNamespace(content=content, name=name + ".pth", ours=tmp_path / "cache" / "weights",
                           torch=tmp_path / "torch" / "hub" / "checkpoints", patch=monkeypatch)  # fmt: skip


def refuse(error):
    raise error


def served(cache, content, length=None):
    """A network that has one file; returns the addresses that it is asked for."""
    asked = []

    def urlopen(address, timeout):
        asked.append(address)
        answer = content if hasattr(content, "read") else io.BytesIO(content)
        answer.headers = Message()
        answer.headers["Content-Length"] = str(length or len(cache.content))
        return answer

    cache.patch.setattr(urllib.request, "urlopen", urlopen)
    return asked


class Answer(io.BytesIO):
    """What a network gives."""


def is_pretrained(net):
    return all((var.numpy() == 0.5).all() for var in net.parameters())


@pytest.mark.parametrize("folder", ["ours", "torch"])
def test_a_file_in_the_cache_of_jt_edu_or_of_pytorch_is_taken(folder, cache):
    getattr(cache, folder).mkdir(parents=True)
    (getattr(cache, folder) / cache.name).write_bytes(cache.content)

    assert is_pretrained(models.squeezenet1_1(pretrained=True))
    assert is_pretrained(models.squeezenet1_1(weights="IMAGENET1K_V1"))


def test_where_there_is_none_it_is_downloaded_once(cache):
    asked = served(cache, Answer(cache.content))

    assert is_pretrained(models.squeezenet1_1(True))
    assert is_pretrained(models.squeezenet1_1(True))
    assert asked == [f"https://download.pytorch.org/models/{cache.name}"]
    assert [file.name for file in cache.ours.iterdir()] == [cache.name]


def test_where_there_is_no_network_the_error_says_what_to_do(cache):
    with pytest.raises(jt.ArgumentError) as refused:
        models.squeezenet1_1(pretrained=True)

    for words in (
        f"squeezenet1_1(pretrained=True) reads {cache.name} from {cache.ours}, or downloads it; found no such file",
        f"Try: download https://download.pytorch.org/models/{cache.name} where there is a network, and put it into",
        "or squeezenet1_1(), with random weights",
        "no route to host",
    ):
        assert words in str(refused.value)


def test_a_damaged_file_is_never_taken_and_is_downloaded_anew(cache):
    cache.ours.mkdir(parents=True)
    (cache.ours / cache.name).write_bytes(cache.content[:-1])
    with pytest.raises(jt.ArgumentError, match=r"found .*squeezenet1_1-.* with another checksum than its name has"):
        models.squeezenet1_1(pretrained=True)

    served(cache, Answer(cache.content))

    assert is_pretrained(models.squeezenet1_1(pretrained=True))


@pytest.mark.parametrize("kind", ["another file", "cut off", "too long"])
def test_what_is_downloaded_is_checked_before_it_has_its_name(kind, cache):
    cache.patch.setattr(published, "LARGEST", 10_000_000)
    answer = Answer(b"<html>" if kind == "another file" else cache.content * (3 if kind == "too long" else 1))
    if kind == "cut off":
        cache.patch.setattr(answer, "read", lambda count: refuse(IncompleteRead(b"")), raising=False)
    served(cache, answer)

    with pytest.raises(jt.ArgumentError, match=r"another checksum|more than 10,000,000 bytes|IncompleteRead"):
        models.squeezenet1_1(pretrained=True)
    assert not list(cache.ours.iterdir())


def test_another_number_of_classes_is_an_error_that_names_the_layer(cache):
    cache.ours.mkdir(parents=True)
    (cache.ours / cache.name).write_bytes(cache.content)

    with pytest.raises(jt.ShapeError, match=r"classifier\.1\.weight of shape \(1000, 512, 1, 1\) for \(7, 512, 1, 1\)"):
        models.squeezenet1_1(pretrained=True, num_classes=7)


@pytest.mark.parametrize("name", BUILDERS)
def test_each_network_has_a_file_whose_name_tells_its_checksum(name):
    checksum = published.FILES[name].rpartition("-")[2]

    assert len(checksum) in (8, 10)
    assert int(checksum, 16) > 0


def test_a_network_that_was_trained_on_other_images_is_told_so_unless_one_says_otherwise(cache):
    class Net(jt.models.SqueezeNet):
        def __init__(self, transform_input=False):
            super().__init__("1_1")
            self.transform_input = transform_input

    cache.ours.mkdir(parents=True)
    (cache.ours / cache.name).write_bytes(cache.content)
    cache.patch.setitem(published.FILES, "googlenet", published.FILES["squeezenet1_1"])
    make = variant("googlenet", Net, "GoogLeNet", 0)

    found = [make(**settings).transform_input for settings in ({"pretrained": True}, {}, {"weights": None})]

    assert found == [True, False, False]
    assert not make(True, transform_input=False).transform_input
