"""The plan of the house: every list and every number that the house tests hold jt_edu to.

To add a module, give it a place in `FLOORS`. To make an exception, name it here, with its reason.
"""

from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]

# A module imports from floors before its own and, on its own floor, from modules to its left.
# A package stands here once, for all of its files. Inside a package only circles are forbidden.
FLOORS: tuple[tuple[str, ...], ...] = (
    (
        "errors",
        "advice",
        "own",
        "scoped",
        "instead",
        "names",
        "faces",
        "dtypes",
        "index",
        "trace",
        "thumbnail",
        "settings",
        "memory",
    ),  # 0 ground
    ("graph", "meta", "functions", "lookup"),  # 1 meaning
    ("expression", "build", "relay", "convolution", "join", "tail", "fuse", "codegen"),  # 2 planning
    (
        "backends",
        "convolving",
        "multiplying",
        "plan",
        "determined",
        "telling",
        "execute",
        "gradient_errors",
        "autograd",
    ),  # 3 running
    ("formats", "making", "handle", "arithmetic", "var", "random"),  # 4 the learner's handle
    ("inside", "template", "ops", "storage", "linalg", "fft"),  # 5 operators
    (
        "capture",
        "script",
        "leaves",
        "surroundings",
        "captured",
        "compile",
        "replay",
        "backward",
    ),  # 5 steps that are run again
    ("caller", "draw", "reasons", "explain", "race", "fusion_report", "document", "walk"),  # 6 looking
    ("team", "nn", "func", "optim", "data", "amp", "fx", "quant", "mpi", "distributed"),  # 6 learning
    ("usage", "compiling", "benchmark", "anatomy", "lens", "launch"),  # looking at all of it
    ("models", "test"),  # 7 people
)
CORE_FLOORS = 5  # the operators of floor 5 are a library on top of it (docs/decisions/020)
NOT_CORE = (  # on a floor of the core, but outside its budget
    "backends.mathlib",  # a library of functions
    "backends.conv", "backends.convolve", "backends.tails", "codegen.tail", "convolution", "convolving", "tail",
    "determined", "backends.multiply", "multiplying",  # decisions 046 and 048: so are the rows above
    "codegen.reach",  # when memory is asked for: no answer depends on it (decision 060)
    "backends.entry", "backends.native",  # how machine code is loaded and called (decision 059)
    "telling", "thumbnail",  # what those hear who watch
    "advice", "instead", "names", "gradient_errors",  # the last part of an error: no answer depends on it
    "own", "scoped", "faces",  # Python's: whose function is called, what is a decorator, what can be imported
    "making",  # PyTorch's words for what is made: each does what can be said without it
    "formats",  # rules that nothing enters until somebody asks for a format (decision 047)
)  # fmt: skip

# Upstairs for the type checker only: (who looks up, at what).
TYPING_ONLY = {
    ("graph", "meta"),
    ("autograd", "var"),
    ("gradient_errors", "var"),
    ("arithmetic", "var"),
}

# Third-party libraries that any module may use, and those that only one module (or package) may.
CORE_LIBRARIES = {"numpy", "numba", "llvmlite"}
LIBRARIES_OF: dict[str, set[str]] = {
    "backends": {"scipy", "threadpoolctl"},  # gives numba's np.dot its BLAS, and holds that to one thread
    "data": {"PIL", "sklearn"},  # Pillow reads photographs; the digits of sklearn need no download
    "draw": {"graphviz"},  # writes DOT for print
    "functions": {"scipy"},
    "linalg": {"scipy"},
    "mpi": {"mpi4py"},
}

# Imports inside a function, resolve_name's too: (module, library), for a heavy library that may be absent, or that
# takes too long to load for everybody: numba some 0.5 s, BLAS 0.2 s.
LATE_IMPORTS = {
    ("backends", "backends"),  # the one that was asked for, from its table
    ("backends", "importlib"),  # what installed packages announce
    ("backends.lean", "backends.multiply.dot"),
    ("backends.blas", "scipy"),  # scipy.linalg as a whole, where its BLAS cannot be had alone
    ("backends.native", "backends.entry"),  # numba, for kernels on disk that need it
    ("backends.native", "numba"),
    ("backends.numba_cpu", "backends.blas"),
    ("backends.numba_cpu", "backends.lean"),  # numba, when the first kernel is compiled
    ("backends.numba_cpu", "numba"),
    ("backends.tails", "backends.convolve.hook"),
    ("backends.tails", "backends.entry"),
    ("backends.tails", "backends.lean"),
    ("backends.convolve.choice", "backends.convolve.choice"),  # algorithms, from its list: they load numba
    ("backends.convolve.packing", "backends.convolve.tile"),  # how long vectors are: that loads numba
    ("backends.convolve.tuner", "backends.numba_cpu"),
    ("jt_widgets.machine", "jt_edu.lens.assembly"),
    ("lens.edits", "lens.guard"),
    ("backends.numba_cuda", "numba"),
    ("data.image", "PIL"),
    ("data.toy", "sklearn"),
    ("draw.dot", "graphviz"),
    ("mpi.jittor", "mpi.real.communicator"),
    ("mpi.real.communicator", "mpi4py"),
    ("mpi.real.launch", "importlib"),  # importlib.metadata, which loads all that mail is made of
    ("names", "names"),  # what a door offers from a floor above, when somebody asks for it
}

CORE_LINES = 5_000  # of code: docstrings, comments and blank lines are free (docs/decisions/010)
FILE_LINES = 400
VIEW_LINES = 120  # of a view's file in widgets/jt_widgets
SHARED_BY_VIEWS = ("bundle", "view")
FUNCTION_LINES = 40
MEDIAN_FUNCTION_LINES = 8

# What (a * b + c).sum() and its gradient enter, on the python backend: the goal, and where it stands.
WALK_FILES, WALK_FUNCTIONS = 12, 80
WALK_TODAY = (25, 150)

# Rooms for people who extend jt_edu: their public names have docstrings, but need no example.
WORKSHOPS = ("jt_edu.backends", "jt_edu.codegen")

MAY_PRINT = {
    "__main__", "run", "test.test_resnet",  # modules that are programs
    "benchmark.compare",  # Compare.print()
}  # fmt: skip
RAISES_WITH_VALUE = 0.90

IMPORT_SECONDS = 1.0
IMPORTED_BY_NOBODY = (
    "IPython", "PIL", "anywidget", "graphviz", "ipywidgets", "matplotlib", "mpi4py", "sklearn", "torch",
)  # fmt: skip
