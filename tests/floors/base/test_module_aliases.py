"""Faces: how others import what stands elsewhere here."""

import importlib.util
import subprocess
import sys

import pytest

import jt_edu as jt
from jt_edu.base.module_aliases import Face

WORK = """
import jt_edu.nn.functional as F
import jt_edu.nn.utils.rnn as rnn; assert rnn.pad_sequence is jt.nn.pad_sequence
from jt_edu.nn.utils.rnn import pack_padded_sequence, pad_sequence
from jt_edu.utils.data import DataLoader, Dataset; assert DataLoader is jt.data.DataLoader
import jt_edu.utils.data as data; assert data.Dataset is jt.data.Dataset
import jt_edu.utils.data; assert jt_edu.utils.data.Subset is jt.data.Subset
from jt_edu.utils import data; assert data.Subset is jt.data.Subset
from jt_edu import utils; utils.data.DataLoader
jt.utils.data.DataLoader
jt.nn.utils.rnn.pad_sequence
jt.nn.utils.parametrizations.weight_norm
jt.nn.modules.Linear
jt.nn.parameter.Parameter
from jt_edu.utils.data.dataset import random_split
from jt_edu.utils.data.distributed import DistributedSampler
from jt_edu.optim.lr_scheduler import StepLR, _LRScheduler
from jt_edu.optim.optimizer import Optimizer
import jt_edu.optim.swa_utils as swa; swa.AveragedModel
from jt_edu.nn.parameter import Parameter; assert Parameter is jt.nn.Parameter
from jt_edu.nn.modules import Module
from jt_edu.nn.modules.conv import Conv2d; assert jt.nn.conv.__name__ == "jt_edu.nn.conv"
from jt_edu.nn.modules import *
from jt_edu.autograd import Variable, Function, no_grad; assert Function is jt.Function
from jt_edu.autograd.function import Function
from jt_edu.nn import init
from jt_edu.nn.utils import clip_grad_norm_, parametrize, prune
import jt_edu.nn.utils.prune as prune; prune.l1_unstructured
from jt_edu.nn.utils.parametrize import register_parametrization
from jt_edu.nn.utils.stateless import functional_call; assert functional_call is jt.func.functional_call
from jt_edu.func import functional_call
from jt_edu.dataset.mnist import MNIST
from jt_edu.transform import Resize
from jt_edu.init import gauss
import jt_edu.random; assert jt.random(2).shape == (2,) and jt.random.fork_rng
from jt_edu.random import fork_rng; assert fork_rng is jt.random.fork_rng
from jt_edu.var import _restore; assert jt.var(jt.array([1.0, 1.0])).item() == 0
from jt_edu.errors import ShapeError; assert ShapeError is jt.ShapeError
from jt_edu.dtypes import float32; assert float32 is jt.float32
from jt_edu.index import load
from jt_edu.nn.norm import BatchNorm2d; assert BatchNorm2d is jt.nn.BatchNorm2d
from jt_edu.optim.rms import RMSprop; assert RMSprop is jt.optim.RMSprop
from jt_edu.optim.lr_scheduler.steps import StepLR
from jt_edu.optim.factor import Group
from jt_edu.nn.reparam import _WeightNorm
from jt_edu.nn.packed import PackedSequence
from jt_edu.formats import MemoryFormat
from jt_edu.mpi.record.records import Record
from jt_edu.settings import current
from jt_edu.data.combine import ConcatDataset
from jt_edu.data.transform.values import Normalize
from jt_edu.mpi.paper import model; model.cost
from jt_edu.mpi.paper.model import cost
from jt_edu.ops import code
from jt_edu.cuda.amp import GradScaler, autocast
from jt_edu.backends import cudnn
"""
ARE_TOLD = {
    "from jt_edu.distributions import Normal": "jt offers no distributions. Try: jt.normal",
    "from jt_edu.distributions.normal import Normal": "jt offers no distributions. Try: jt.normal",
    "import jt_edu.distributions": "jt offers no distributions. Try: jt.normal",
    "from jt_edu.fp16_utils import FP16_Optimizer": "jt offers no fp16_utils. Try: jt.amp, which has FP16_Optimizer",
    "from jt_edu.apex import amp": "jt offers no apex. Try: jt.amp, which has Apex's",
    "from jt_edu.utils.tensorboard import SummaryWriter": "jt offers no tensorboard. Try: jt_widgets.train_panel",
    "from jt_edu import sofmax": "jt offers no sofmax. Try: jt.softmax",
    "from jt_edu.nn import Conv2dd": "jt.nn offers no Conv2dd. Try: jt.nn.Conv2d",
    "from jt_edu.nn.functional import sofmax": "jt.nn.functional offers no sofmax. Try: jt.nn.functional.softmax",
    "from jt_edu.nn.modules import Conv2dd": "jt.nn offers no Conv2dd",
    "from jt_edu.utils.data import DataLoadr": "jt.data offers no DataLoadr. Try: jt.data.DataLoader",
    "import jt_edu.nonsense": "jt offers no nonsense",
    "import jt_edu.nn.nonsense": "jt.nn offers no nonsense",
}


@pytest.fixture(autouse=True)
def _as_before():
    """An import leaves its module where it is found: other tests ask for names that are not there."""
    rooms = [jt, jt.nn, jt.nn.utils, jt.optim, jt.autograd]
    known, held = set(sys.modules), [set(vars(room)) for room in rooms]
    yield
    for name in {name for name in sys.modules if name.startswith("jt_edu.")} - known:
        if isinstance(sys.modules[name], Face):
            del sys.modules[name]
    for room, names in zip(rooms, held, strict=True):
        for name in set(vars(room)) - names:
            if isinstance(vars(room)[name], Face):
                delattr(room, name)


@pytest.mark.parametrize("form", WORK.strip().splitlines())
def test_others_names_of_modules_can_be_imported(form):
    exec(form, {"jt": jt})  # noqa: S102 - lines of this file


@pytest.mark.parametrize("form", ARE_TOLD)
def test_a_module_that_is_not_here_is_told_of(form):
    with pytest.raises(ImportError) as caught:
        exec(form, {})  # noqa: S102 - lines of this file

    assert str(caught.value).startswith(ARE_TOLD[form])


def test_who_only_asks_whether_a_module_is_there_hears_no():
    assert importlib.util.find_spec("jt_edu.nosuchthing") is None
    assert importlib.util.find_spec("jt_edu.nn.nosuchthing") is None
    assert importlib.util.find_spec("jt_edu.utils.data") is not None
    with pytest.raises(ModuleNotFoundError, match="jt offers no nosuchthing"):
        importlib.import_module("jt_edu.nosuchthing")


def test_a_fresh_process_finds_them_and_no_file_is_read_twice():
    lines = (
        "import jt_edu.utils.data.dataset as d, jt_edu.data.dataset, jt_edu as jt; print(d.Dataset is jt.data.Dataset)"
    )

    assert subprocess.check_output([sys.executable, "-c", lines], text=True) == "True\n"


def test_what_is_no_name_of_ours_is_left_to_others():
    with pytest.raises(ModuleNotFoundError, match="No module named 'nonsense'"):
        exec("import nonsense", {})  # noqa: S102
    assert not hasattr(jt, "__wrapped__")


def test_the_gradient_of_pytorchs_module_is_ours():
    found = {}
    exec("import jt_edu.autograd as a; from jt_edu.autograd import grad", found)  # noqa: S102

    assert (found["a"].grad, found["grad"]) == (jt.grad, jt.grad)
