"""Module aliases: modules of PyTorch and Jittor that stand elsewhere here, for whoever imports them.

    from jt_edu.utils.data import DataLoader         jt_edu.data has it
    from jt_edu.nn.modules.conv import Conv2d        jt_edu.nn has it
    from jt_edu.distributions import Normal          jt offers no distributions. Try: jt.normal, ..., which draw.
    from jt_edu import sofmax                        jt offers no sofmax. Try: jt.softmax or ...
    jt.ops.matmul(x, y)                              jt.matmul, though a file of ops/ has that name

A face is a module without a file, which hands on the names of a real one. Python asks here last, when no file of that
name was found; what is told of a name that nobody knows is what its door would say (did_you_mean.py).
"""

from __future__ import annotations

import sys
from functools import reduce
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

from jt_edu.base.errors import JtError

HOME = __name__.partition(".")[0]
_MODULES = (
    "activation adaptive batchnorm channelshuffle container conv distance dropout flatten fold instancenorm lazy "
    "linear loss module normalization padding pixelshuffle pooling rnn sparse transformer upsampling"
)
FACES = {  # a module of others -> ours that has its names, and the modules inside which the same holds
    "utils": ("", "data"),
    "utils.data": ("data", "dataset dataloader sampler distributed"),
    "utils.pytorch_converter": ("pytorch_converter", ""),
    "core": ("", ""),
    "compiler": ("jittor_names", ""),
    "compile_extern": ("jittor_names", ""),
    "cuda.amp": ("amp.cuda", "autocast_mode grad_scaler"),
    "dataset": ("data", "dataset mnist cifar image_folder"),
    "transform": ("data.transform", ""),
    "misc": ("", ""),
    "special": ("", ""),
    "init": ("nn.init", ""),
    "lr_scheduler": ("optim.lr_scheduler", ""),
    "optim.optimizer": ("optim", ""),
    "nn.modules": ("nn", _MODULES),
    "nn.parameter": ("nn", ""),
    "nn.attention": ("nn", ""),
    "nn.utils.rnn": ("nn", ""),
    "nn.utils.clip_grad": ("nn.utils", ""),
    "nn.utils.convert_parameters": ("nn.utils", ""),
    "nn.utils.weight_norm": ("nn.utils", ""),
    "nn.utils.spectral_norm": ("nn.utils", ""),
    "nn.utils.parametrize": ("nn.parametrize", ""),
    "nn.utils.prune": ("nn.prune", ""),
    "nn.utils.parametrizations": ("nn.utils", ""),
    "nn.utils.stateless": ("func", ""),
    "autograd.function": ("autograd", ""),
    "autograd.functional": ("func.functional", ""),
    "autograd.variable": ("autograd", ""),
}
MOVED = {  # where files stood before they had rooms (decision 071): pickles and notebooks name them
    "dtypes": ("base.dtypes", ""),
    "errors": ("base.errors", ""),
    "formats": ("variable.memory_format", ""),
    "index": ("ir.index_expr", ""),
    "memory": ("base.allocator", ""),
    "random": ("variable.random", ""),
    "replay": ("capture.step_cache", ""),
    "settings": ("base.context", ""),
    "var": ("variable.var", ""),
    "ops.code": ("ops.custom_kernel", ""),
    "nn": ("nn", "adaptive clusters distance entropy margin norm packed squash vision"),
    "nn.reparam": ("nn.parametrizations", ""),
    "optim": ("optim", "rms"),
    "optim.by_hand": ("optim.custom_step", ""),
    "optim.factor": ("optim.hyperparameters", ""),
    "optim.lr_scheduler": ("optim.lr_scheduler", "chain cycles schedule steps"),
    "data": ("data", "combine pictures"),
    "data.transform": ("data.transform", "places together values"),
    "mpi.paper": ("mpi.perf_model", ""),
    "mpi.paper.model": ("mpi.perf_model.model", ""),
    "mpi.record": ("mpi.trace", ""),
    "mpi.record.records": ("mpi.trace.records", ""),
}


class UnknownModuleError(JtError, ModuleNotFoundError):
    """A module that is not there; what to import in its place is told.

    Example:
        >>> from jt_edu.distributions import Normal
        Traceback (most recent call last):
        UnknownModuleError: jt offers no distributions. Try: jt.normal, jt.uniform, ...
    """


class Face(ModuleType):
    """A module that hands on the names of another one.

    Example:
        >>> from jt_edu.nn.parameter import Parameter
        >>> Parameter is jt.nn.Parameter
        True
    """

    def __init__(self, name: str, real: str) -> None:
        super().__init__(name, f"The names of {real}, where others have them.")
        self.__path__: list[str] = []
        self._real = real

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") and name != "__all__":  # asked by machines
            raise AttributeError(name)
        return getattr(_loaded(self._real), name)

    def __dir__(self) -> list[str]:
        return dir(_loaded(self._real))


class Callable(ModuleType):
    """A file that bears the name of a function: called, it is that function.

    Example:
        >>> jt.ops.matmul(jt.ones(2, 3), jt.ones(3, 2)).shape
        (2, 2)
    """

    def __call__(self, *given: Any, **named: Any) -> Any:
        """The function of this name."""
        return vars(self)["_function"](*given, **named)


def answer_calls(room: ModuleType, functions: dict[str, Any]) -> None:
    """Let the files of a package that bear the name of a function be called like it."""
    for name, file in vars(room).items():
        if isinstance(file, ModuleType) and name in functions:
            file.__class__ = Callable
            vars(file)["_function"] = functions[name]


class Faces(MetaPathFinder, Loader):
    """Who Python asks for a module of ours that no file is there for."""

    def find_spec(self, fullname: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        """The face of this name, or, for who imports it, an error that says what to import; None for others."""
        if not fullname.startswith(HOME + "."):
            return None
        if _real(fullname.removeprefix(HOME + ".")) is not None:
            return ModuleSpec(fullname, self, is_package=True)
        parent, _, name = fullname.rpartition(".")
        wanted = sys._getframe(2).f_code.co_name == "_find_and_load_unlocked"  # an import; others ask if it is there
        if name.startswith("_") or parent not in sys.modules or not wanted:
            return None
        try:
            getattr(sys.modules[parent], name)
        except AttributeError as error:
            if isinstance(error, JtError):  # its door knows what is meant
                raise UnknownModuleError(error.asked, error.found, error.attempt) from None
        return None

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        """The face, which needs no code to be run."""
        return Face(spec.name, f"{HOME}.{_real(spec.name.removeprefix(HOME + '.'))}".rstrip("."))

    def exec_module(self, module: ModuleType) -> None:
        """It is complete."""


def _loaded(name: str) -> Any:
    """A module of ours; its door imports it now, if nobody has."""
    return sys.modules.get(name) or reduce(getattr, name.split(".")[1:], sys.modules[HOME])


def _real(name: str) -> str | None:
    """Which of our modules has the names of that one."""
    around, _, last = name.rpartition(".")
    for table in (FACES, MOVED):
        if name in table:
            return table[name][0]
        if around in table and last in table[around][1].split():
            return table[around][0]
    return None


def answer_imports() -> None:
    """Let Python ask here, once, when it has looked everywhere else."""
    if not any(type(finder).__name__ == Faces.__name__ for finder in sys.meta_path):
        sys.meta_path.append(Faces())
