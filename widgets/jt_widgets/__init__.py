"""The Python half of the widgets: turns what jt_edu's trace recorded into JSON, and draws nothing itself."""

try:
    import anywidget as _drawn_by  # noqa: F401 - before the views, which could only say that it is not there
except ModuleNotFoundError as missing:
    raise ModuleNotFoundError(
        f"jt_widgets draws its views with the package anywidget; found {missing}. Try: pip install anywidget, in a "
        "notebook %pip install anywidget. Without it y.graph(), jt.explain(y) and the rest of jt_edu work.",
        name=missing.name,
    ) from None

from jt_widgets.explore import explore
from jt_widgets.files import answer_calls
from jt_widgets.form import form
from jt_widgets.fusion import FusionLens, fusion
from jt_widgets.gpu_grid import gpu_grid
from jt_widgets.graph import GraphView, graph
from jt_widgets.kernel import kernel
from jt_widgets.loops import step_kernel
from jt_widgets.magics import load_ipython_extension, register  # noqa: F401 - the first is called by %load_ext
from jt_widgets.memory import memory
from jt_widgets.ranks import RankView, ranks
from jt_widgets.roofline import roofline
from jt_widgets.tape import tape
from jt_widgets.train import train_panel
from jt_widgets.view import View

register()  # %%ranks and its kind, where there is a notebook; so does %load_ext jt_widgets
ASKS_FOR_ITS_CALLER = True  # our frames are none of the learner's: jt_edu.variable.caller_frame passes over them

__all__ = [
    "FusionLens",
    "GraphView",
    "RankView",
    "View",
    "explore",
    "form",
    "fusion",
    "gpu_grid",
    "graph",
    "kernel",
    "memory",
    "ranks",
    "roofline",
    "step_kernel",
    "tape",
    "train_panel",
]


def __dir__() -> list[str]:
    """What there is to be called; the files of this package lie beside it, and are of no use to a learner."""
    return __all__


answer_calls(globals())
