"""The plan of the house: every list and every number that the house tests hold jt_edu to.

To add a module, give it a place in `FLOORS`. To make an exception, name it here, with its reason.
"""

from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]

# A module imports from floors before its own and, on its own floor, from modules to its left.
# A package stands here once, for all of its files. Inside a package only circles are forbidden.
FLOORS: tuple[tuple[str, ...], ...] = (
    ("base", "version"),  # 0 ground
    ("ir",),  # 1 meaning
    ("fusion", "codegen"),  # 2 planning
    ("backends", "runtime", "cuda"),  # 3 running
    ("variable",),  # 4 the learner's handle
    ("ops", "autograd", "linalg", "fft", "sparse"),  # 5 operators
    ("capture", "draw", "introspect"),  # 6 steps that are run again; looking
    ("nn", "func", "optim", "data", "amp", "fx", "quant", "mpi", "distributed"),  # 7 learning
    ("config", "lens", "benchmark", "launch", "library"),  # 8 looking at all of it
    (
        "models",
        "zoo",
        "test",
        "lab",
        "course_files",
        "precompile",
        "jittor_operators",
        "jittor_names",
        "pytorch_converter",
        "bench",
        "einops",
    ),  # 9
)
CORE_FLOORS = 5  # the operators of floor 5 are a library on top of it (docs/decisions/020)
NOT_CORE = (  # on a floor of the core, but outside its budget
    "backends.mathlib",  # a library of functions
    "cuda",  # kernels that a learner writes for a GPU (decision 095)
    "version",  # names of PyTorch
    "backends.conv", "backends.convolve", "backends.epilogues", "codegen.emit_epilogue", "fusion.epilogue",
    "backends.cuda",  # a setting, which decides nothing on a CPU (decision 100)
    "fusion.halves", "variable.autocast", "variable.halves_kept",  # mixed precision (decision 089)
    "ir.conv_pattern", "runtime.conv_step", "runtime.determinism",  # decisions 046 and 048
    "backends.matmul", "runtime.matmul_step",  # the same for products of matrices
    "codegen.emit_row_blocks", "fusion.causal", "fusion.row_blocks",  # and for what runs between two (decision 104)
    "codegen.prefetch",  # when memory is asked for: no answer depends on it (decision 060)
    "backends.cpython_entry", "backends.code_loader",  # how machine code is loaded and called (decision 059)
    "backends.text_to_llvm", "backends.llvm_array", "backends.llvm_number",  # numba makes the same, in more time
    "backends.llvm_library",
    "runtime.trace_events", "runtime.array_summary",  # what those hear who watch
    "runtime.devices",  # nothing moves until somebody brings a device (decision 096)
    "backends.learner_bodies",  # what only kernels call whose body a learner wrote
    "base.hints", "base.migration", "base.did_you_mean",  # the last part of an error: no answer depends on it
    "variable.gradient_errors",  # the same
    "base.tracebacks", "base.plural",  # how errors are written down
    "base.own", "base.scoped", "base.module_aliases",  # Python's: whose function, what decorates, what is imported
    "variable.torch_keywords",  # PyTorch's words for what is made: each does what can be said without it
    "variable.memory_format",  # rules that nothing enters until somebody asks for a format (decision 047)
    # comfort and speed for operators, which the walk from `a * b` to numbers does without (decision 020)
    "variable.index_bounds", "variable.subgraph_cache", "variable.storage", "variable.pytree",
    "variable.caller_frame", "variable.parallel_context", "variable.gradient_cache", "runtime.plan_source",
)  # fmt: skip

# Upstairs for the type checker only: (who looks up, at what).
TYPING_ONLY = {
    ("ir.node", "ir.meta_ops"),
    ("variable.autograd", "variable.var"),
    ("variable.gradient_errors", "variable.var"),
    ("variable.operators", "variable.var"),
}

# Third-party libraries that any module may use, and those that only one module (or package) may.
CORE_LIBRARIES = {"numpy", "numba", "llvmlite"}
LIBRARIES_OF: dict[str, set[str]] = {
    "config": {"yaml", "jt_widgets"},  # PyYAML reads and writes; a form for who asks for one
    "course_files": {"jupyter_server"},  # what JupyterLab lists; imported by JupyterLab, and nobody else
    "cuda": {"cuda"},  # what numba-cuda links with
    "backends": {"scipy", "threadpoolctl"},  # gives numba's np.dot its BLAS, and holds that to one thread
    "data": {"PIL", "sklearn"},  # Pillow reads photographs; the digits of sklearn need no download
    "einops": {"einops"},  # how axes with names are rearranged
    "bench": {"torch", "torchvision"},  # beside ours, never in place of it
    "draw": {"graphviz"},  # writes DOT for print
    "ir.scalar_ops": {"scipy"},
    "linalg": {"scipy"},
    "mpi": {"mpi4py"},
    "precompile": {"IPython"},  # runs the cells of notebooks; a program of its own, which nobody imports
}

# modules that only who has a library can import: who else imports all, skips
OPTIONAL = {"cuda.to_ptx": "numba_cuda", "cuda.tensor_ptx": "numba_cuda"}

# Imports inside a function, resolve_name's too: (module, library), for a heavy library that may be absent, or that
# takes too long to load for everybody: numba some 0.5 s, BLAS 0.2 s.
LATE_IMPORTS = {
    ("bench", "torch"),  # a program that puts PyTorch beside our networks, where it is installed
    ("bench", "torchvision"),
    ("backends", "backends"),  # the one that was asked for, from its table
    ("backends", "importlib"),  # what installed packages announce
    ("backends.numba_pipeline", "backends.matmul.dot"),
    ("backends.blas", "scipy"),  # scipy.linalg as a whole, where its BLAS cannot be had alone
    ("backends.code_loader", "backends.cpython_entry"),  # numba, for kernels on disk that need it
    ("backends.code_loader", "numba"),
    ("backends.numba_cpu", "backends.blas"),
    ("backends.numba_cpu", "backends.numba_pipeline"),  # numba, when the first kernel is compiled
    ("backends.numba_cpu", "numba"),
    ("backends.epilogues", "backends.convolve.epilogue_hook"),
    ("backends.epilogues", "backends.cpython_entry"),
    ("backends.epilogues", "backends.numba_pipeline"),
    ("backends.convolve.selection", "backends.convolve.selection"),  # algorithms, from its list: they load numba
    ("backends.convolve.packing", "backends.convolve.gemm_microkernel"),  # how long vectors are: that loads numba
    ("backends.convolve.autotuner", "backends.numba_cpu"),
    ("jt_widgets.machine", "jt_edu.lens.assembly"),
    ("lens.kernel_edit", "lens.sandbox"),
    ("backends.numba_cuda", "numba"),
    ("ops.code_cuda", "cuda"),  # kernels of a GPU, for who writes some
    ("cuda.compiler", "cuda.to_ptx"),  # numba-cuda, where there is a GPU
    ("version", "importlib"),  # the same
    ("cuda.compiler", "importlib"),  # importlib.metadata, which takes long to load
    ("cuda.device", "importlib"),  # the same
    ("config.argument_parser", "jt_widgets"),  # a form, where there is a notebook
    ("data.image", "PIL"),
    ("models.published", "http"),  # what a download needs takes 0.08 s to load
    ("models.published", "urllib"),
    ("data.toy", "sklearn"),
    ("draw.dot", "graphviz"),
    ("mpi.jittor_api", "mpi.mpi4py_backend.communicator"),
    ("mpi.mpi4py_backend.communicator", "mpi4py"),
    ("mpi.mpi4py_backend.launch", "importlib"),  # importlib.metadata, which loads all that mail is made of
    ("base.did_you_mean", "base.did_you_mean"),  # what a door offers from a floor above, when somebody asks for it
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

DOORS_WITHOUT_A_FOLDER = ("autograd", "nn.functional", "nn.init")  # they only hand out names, as an `__init__` does

# Rooms for people who extend jt_edu: their public names have docstrings, but need no example.
WORKSHOPS = ("jt_edu.backends", "jt_edu.codegen")

BEGIN_WITH_A_CELL = ("solution.py",)  # of an exercise: cells of a notebook, whose first one is the statement

MAY_PRINT = {
    "__main__", "lab", "run", "test.test_resnet",  # modules that are programs
    "amp.apex_optimizer",  # what Apex prints of a level, unless `verbosity` is 0
    "benchmark.compare",  # Compare.print()
}  # fmt: skip
RAISES_WITH_VALUE = 0.90

IMPORT_SECONDS = 1.0
IMPORTED_BY_NOBODY = (
    "IPython", "PIL", "anywidget", "graphviz", "ipywidgets", "matplotlib", "mpi4py", "sklearn", "torch", "yaml",
)  # fmt: skip
