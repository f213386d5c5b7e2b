"""Course: which exercises are there, and what are their answers called?

    COURSE["03_fusion"]["2 can_inline"]      ("can_inline",)       the names that a learner fills

An answer is a function or a variable at the top level of a cell. Exercises without an answer that can be judged
(predictions, reflections) are not here.
"""

from __future__ import annotations

COURSE: dict[str, dict[str, tuple[str, ...]]] = {
    "01_autograd_by_hand": {
        "3 backward, in order": ("backward",),
        "5 one rule for each operator": ("div_rule", "exp_rule", "relu_rule"),
        "6 a broadcast is undone": ("unbroadcast",),
        "7 places for a checker": ("places",),
        "9 through batch norm": ("backwards",),
    },
    "02_meta_operators": {
        "2 views": ("twice_as_wide", "transposed", "upside_down", "every_second_column", "diagonal", "padded"),
        "4 a matrix product": ("my_matmul",),
        "5 convolution and pooling": ("my_conv2d", "my_max_pool"),
        "7 gradients": ("windows_gradient", "backwards_twice_gradient", "pairs_summed_gradient"),
        "8 gather and scatter-add": ("gather_rows", "add_rows"),
    },
    "03_fusion": {
        "1 the kernels of an expression": ("kernel_of",),
        "2 can_inline": ("can_inline",),
        "3 groups without a cycle": ("group",),
        "4 store or compute twice": ("seconds",),
        "5 softmax in two passes": ("step",),
        "6 arrays that fusion removes": ("removed",),
    },
    "04_kernels": {
        "1 whose kernel is it?": ("whose",),
        "2 the kernels of a line": ("kernels_of",),
        "3 what the compiler may do": ("may",),
        "4 four rows at once": ("four_rows",),
        "5 numbers at once": ("at_once",),
        "6 a kernel of your own": ("LEAKY", "leaky_gradient"),
    },
    "05_roofline": {
        "1 operations per byte": ("intensity",),
        "2 the roof": ("roof",),
        "3 which fusion moves a dot": ("factor",),
        "4 an honest stopwatch": ("measure",),
        "5 the cliff": ("misses",),
        "6 ten percent slower?": ("is_slower",),
    },
    "06_matmul": {
        "1 the innermost loop": ("best_first",),
        "2 tiles": ("tiled",),
        "3 the edges": ("tiled_anywhere",),
        "4 sixteen sums in registers": ("blocked",),
        "5 ten times as fast": ("fast",),
        "6 a tuner": ("tune",),
    },
    "07_convolution": {
        "1 im2col": ("columns",),
        "2 Winograd": ("winograd", "winograd_2d"),
        "3 by FFT": ("fft_conv",),
        "4 digits lost in float16": ("half",),
        "5 a tuner that remembers": ("choose",),
        "6 the broken key": ("first", "second", "repaired"),
    },
    "09_neighbours": {
        "1 all distances": ("NEAREST",),
        "2 a short list": ("INSERT",),
        "3 the gradient of a gather": ("BACK",),
        "4 a grid": ("RINGS",),
        "5 the same answer": ("agrees",),
    },
    "10_training": {
        "8 find the bug": ("learn",),
        "9 a step by hand": ("descend", "largest"),
    },
    "11_backbones": {
        "1 the residual block": ("residual", "bottleneck"),
        "2 whose name is that?": ("report", "rename"),
        "3 a batch norm that costs nothing": ("fold",),
        "4 a new question, ten images": ("new_head",),
        "5 attention": ("attention",),
    },
    "13_many_ranks": {
        "1 pass a word on": ("pass_right",),
        "2 the ring": ("ring_allreduce",),
        "3 the crossing": ("crossing",),
    },
    "13b_training_together": {
        "1 the mean of unequal shares": ("combine",),
        "2 data parallel by hand": ("begin", "together"),
        "3 merge": ("merge",),
        "4 batch norm, backward": ("normalised_backward",),
        "5 buckets": ("buckets",),
    },
}
