"""Migration: what is written here for a name of PyTorch or Jittor that nothing here is like (did_you_mean.py)."""

from __future__ import annotations

_CPU = "leaving it out: everything is on the CPU, unless jt.cuda.is_available()"
_HALVES = "net.half() or net.bfloat16(), which halve the bytes: whole numbers instead of weights are not here yet"
_FOR_LISTS = ("all_gather", "all_reduce", "broadcast", "reduce", "reduce_scatter")  # a tensor for each device of a rank
_SVD = "jt.linalg.svd(x), whose third part is the adjoint of V"
_LU = "jt.linalg.lu_factor(x), for both factors in one matrix; jt.linalg.lu(x), for three"
_LEVEL = "a level of Jittor's, which would change in which dtype every operator answers, everywhere"
_LEVELS = ("amp_reg", "amp_level", "auto_mixed_precision_level")
_AMP = 'with jt.amp.autocast(dtype="float16", lists="apex"):, whose lists say which function prefers float16'
_TUNED = "leaving it out: algorithms are chosen automatically, see jt.explain(y)"
_NUMBA = "leaving it out: kernels are Python, which numba compiles, see jt.kernel_sources(y)"
_WATCHED = "with jt.trace(values=True) as t:, or y.graph()"
_MEASURED = "with jt.profile_scope() as report:"
_COUNTED = "jt.memory_stats()"
_LOGGED = "jt.flags.log_v = 1, or with jt.log_capture_scope() as logs:"
_JITTORS_FLAGS = {  # what does the same -> flags of its compiler, its tuners, its allocators and its log
    _TUNED: "enable_tuner jit_search_kernel jit_search_kernel_rerun jit_search_kernel_warmup",
    _NUMBA: "cc_flags cc_path cc_type compile_options exclude_pass gdb_attach gdb_path gopt_disable nvcc_path",
    _WATCHED: "trace_depth trace_py_var trace_var_data",
    _MEASURED: "profiler_enable profiler_record_peek profiler_rerun profiler_warmup",
    _COUNTED: "profile_memory_enable stat_allocator_total_alloc_byte use_sfrl_allocator use_stat_allocator",
    _LOGGED: "log_file log_silent log_vprefix",
    "jt.flags.fuse = False": "no_fuse",
    "with jt.no_grad():": "no_grad",
    "the variable JT_EDU_CACHE, which says where kernels are kept": "cache_path",
    'jt.array(..., "float32"): arrays of 64 bits stay as they are': "auto_convert_64_to_32",
}
_EXPORT = "net.save(path): an export to other frameworks is not here yet"
INSTEAD = {  # how one writes the owner, a name that it does not have -> what does the same
    ("jt", "use_cuda"): _CPU,
    ("jt", "Tensor"): "jt.Var, the class, or jt.array(...), which makes one",
    ("jt", "FloatTensor"): 'jt.array(..., "float32")',
    ("jt", "DoubleTensor"): 'jt.array(..., "float64")',
    ("jt", "IntTensor"): 'jt.array(..., "int32")',
    ("jt", "LongTensor"): 'jt.array(..., "int64")',
    ("jt", "BoolTensor"): 'jt.array(..., "bool")',
    ("jt", "is_tensor"): "isinstance(x, jt.Var)",
    ("jt", "Size"): "tuple: a shape is one",
    ("jt", "dtype"): "x.dtype, and jt.float32 and its like",
    ("jt", "float"): "jt.float32",
    ("jt", "double"): "jt.float64",
    ("jt", "half"): "jt.float16",
    ("jt", "int"): "jt.int32, or jt.int64",
    ("jt", "long"): "jt.int64",
    ("jt", "short"): "jt.int16",
    ("jt", "cfloat"): "jt.complex64",
    ("jt", "get_default_dtype"): "jt.float32: floats of Python become that",
    ("jt", "set_default_dtype"): 'dtype="float64" where a Var is made',
    ("jt", "set_printoptions"): "np.set_printoptions",
    ("jt", "inference_mode"): "with jt.no_grad():",
    ("jt", "tensorboard"): "jt_widgets.train_panel(...), which draws a training while it runs",
    ("jt", "checkpoint"): "leaving it out: what a gradient needs is computed again where that is cheaper",
    ("jt", "jit"): "jt.compile(step)",
    ("jt", "distributions"): "jt.normal, jt.uniform, jt.bernoulli or jt.multinomial, which draw",
    ("jt", "t"): "x.T",
    ("jt", "svd"): _SVD,
    ("jt", "symeig"): "jt.linalg.eigh",
    ("jt", "lu"): _LU,
    ("jt", "ger"): "jt.outer",
    ("jt", "range"): "jt.arange, whose end is left out",
    ("jt", "vision"): "jt.data.transform and jt.models",
    ("jt", "profiler"): "with jt.trace() as t:, or with jt.profile_scope() as report:",
    ("jt", "number_of_live_vars"): "jt.memory_stats()",
    ("jt", "lexsort"): "np.lexsort, with the keys as x.numpy()",
    ("jt", "fx"): "y.graph() and jt.explain(y), which show a graph: rewriting one is not here yet",
    ("jt", "quantization"): _HALVES,
    ("jt", "quant"): _HALVES,
    ("jt", "ao"): _HALVES,
    ("jt", "quantize_per_tensor"): _HALVES,
    ("jt", "onnx"): _EXPORT,
    ("jt", "export"): _EXPORT,
    ("jt", "lite"): _EXPORT,
    ("jt", "static"): "jt.compile(step), which captures a step once",
    ("jt", "dynamo"): "jt.compile(step)",
    ("jt", "contrib"): "jt itself, which has concat, getitem, setitem and the others",
    ("jt", "math_util"): "jt itself, which has erfinv, digamma, gamma and the others",
    ("jt", "attention"): "jt.nn.MultiheadAttention",
    ("jt", "pool"): "jt.nn.Pool, or jt.pool2d",
    ("jt", "gradfunctional"): "jt.autograd.functional",
    ("jt", "functorch"): "jt.func",
    ("jt", "weightnorm"): "jt.nn.utils.weight_norm",
    ("jt", "hub"): "jt.models, which has the networks; weights are read by net.load(path)",
    ("jt", "testing"): "np.testing.assert_allclose(x.numpy(), ...), or jt.allclose",
    ("jt", "multiprocessing"): "num_workers of a DataLoader, or python -m jt_edu.launch",
    ("jt", "nested"): "jt.nn.pad_sequence, which pads sequences to one length",
    ("jt", "nested_tensor"): "jt.nn.pad_sequence, which pads sequences to one length",
    ("jt", "masked"): "jt.where, x.masked_fill and x.masked_select",
    ("jt", "signal"): "jt.nn.conv1d, which slides one signal along another: windows are not here yet",
    ("jt", "accelerator"): _CPU,
    ("jt", "cudnn"): _CPU,
    ("jt", "mps"): _CPU,
    ("jt", "xpu"): _CPU,
    ("jt", "mkl"): _TUNED,
    ("jt", "mkldnn"): _TUNED,
    ("jt", "compile_custom_op"): "jt.code, whose body is Python",
    ("jt", "compile_custom_ops"): "jt.code, whose body is Python",
    ("jt", "profile_mark"): _MEASURED,
    ("jt", "dump_trace_data"): _WATCHED,
    ("jt", "clear_trace_data"): _WATCHED,
    ("jt", "print_trace"): 'jt.flags.tracebacks = "full"',
    ("jt", "ternary_out_hint"): "jt.where(cond, x, y)",
    ("x", "out_hint"): "leaving it out: what a gradient needs is kept, or computed again where that is cheaper",
    ("x", "compile_options"): _NUMBA,
    **{("jt.flags", f): _AMP for f in _LEVELS},
    **{("jt.flags", f): way for way, flags in _JITTORS_FLAGS.items() for f in flags.split()},
    ("jt", "fp16_utils"): "jt.amp, which has FP16_Optimizer; net.half(), for network_to_half(net)",
    ("jt", "apex"): "jt.amp, which has Apex's amp.initialize and scale_loss, and FP16_Optimizer",
    ("kernel", "inspect_asm"): "jt.cuda.compile(kernel, x).ptx",
    ("kernel", "forall"): "kernel[-(-n // 256), 256](...), and `if i < n:` in the kernel",
    **dict.fromkeys([("jt.cuda", "stream"), ("jt.cuda", "Stream")], "leaving it out: a launch waits for those before"),
    ("jt.cuda", "Event"): "jt.cuda.synchronize(), and time.perf_counter() before and after",
    ("jt.backends", "mkldnn"): "jt.backends.conv: algorithms are chosen automatically",
    ("jt.backends", "mkl"): _TUNED,
    ("jt.backends", "mps"): _CPU,
    ("jt.backends", "openmp"): "jt.set_num_threads",
    ("jt.zoo", "loss"): "jt.nn.CrossEntropyLoss, whose label_smoothing and targets of shares are timm's losses",
    ("jt.zoo", "models"): "jt.zoo: create_model, list_models and register_model stand there",
    ("jt.zoo", "optim"): "jt.optim",
    ("jt.zoo", "scheduler"): "jt.optim.lr_scheduler",
    ("jt.zoo", "utils"): "jt.optim.swa_utils.AveragedModel, for averages of weights",
    ("jt.nn", "quantized"): _HALVES,
    ("jt.nn", "quantizable"): _HALVES,
    ("jt.nn", "qat"): _HALVES,
    ("jt.nn", "intrinsic"): "leaving it out: layers are fused automatically, see jt.fusion_report(net, x)",
    ("x", "opt_grad"): "jt.grad(loss, x), or x.grad after loss.backward()",
    ("x", "values"): "x alone: max and min along an axis return the values, x.argmax(dim) their positions",
    ("x", "indices"): "x.argmax(dim) or x.argmin(dim), which return the positions of the values",
    ("x", "cuda"): _CPU,
    ("x", "nelement"): "x.numel()",
    ("x", "ndimension"): "x.ndim",
    ("x", "type"): 'x.dtype, or x.astype("float32")',
    ("x", "new_tensor"): "jt.array(..., x.dtype)",
    ("x", "grad_fn"): "x.graph(), which shows what it was made from",
    ("x", "is_leaf"): "x.graph(), which shows what it was made from",
    ("x", "retain_grad"): "jt.grad(loss, x), which any Var has",
    ("x", "pin_memory"): _CPU,
    ("x", "stop_fuse"): "with jt.flag_scope(fuse=False):",
    ("x", "svd"): _SVD,
    ("x", "lu"): _LU,
    ("x", "adjoint"): "x.transpose(-2, -1).conj()",
    ("x", "dist"): "(x - y).norm()",
    ("x", "byte"): "x.uint8()",
    ("x", "apply_"): "x.assign(jt.array(np.vectorize(function)(x.numpy())))",
    ("x", "bernoulli_"): "x.assign(jt.bernoulli(jt.full_like(x, p)))",
    ("x", "zero_"): "x.assign(jt.zeros_like(x))",
    ("x", "copy_"): "x.update(...)",
    ("x", "fill_"): "x.assign(jt.full_like(x, ...))",
    ("x", "normal_"): "x.assign(jt.randn(x.shape))",
    ("x", "uniform_"): "x.assign(jt.rand(x.shape))",
    ("net", "cuda"): _CPU,
    ("net", "reset_parameters"): "making the layer anew",
    ("net", "reset_running_stats"): "making the layer anew",
    ("net", "xpu"): _CPU,
    ("net", "type"): 'net.float(), net.double() and their like, or net.to("float64")',
    ("net", "compile"): "jt.compile(step): the whole step, from the network to the optimizer",
    ("net", "share_memory"): "leaving it out: workers of a DataLoader need no network, and ranks share by themselves",
    ("net", "flatten_parameters"): "leaving it out: weights lie as kernels read them",
    ("jt.nn", "DataParallel"): "the network itself: ranks share a batch, as in python -m jt_edu.launch",
    ("jt.nn", "SyncBatchNorm"): "jt.nn.BatchNorm, which counts the batches of all ranks",
    ("jt.nn", "MSE"): "jt.nn.MSELoss",
    ("jt.nn.functional", "upsample"): "jt.nn.functional.interpolate",
    ("jt.nn.functional", "bce"): "jt.nn.functional.binary_cross_entropy",
    ("jt.data.transform", "Scale"): "Resize",
    (
        "jt.data.transform",
        "PILToTensor",
    ): "leaving it out: images are arrays of pixels, and ToTensor makes planes of them",
    ("jt.data.transform", "RandomInvert"): "RandomApply([Lambda(invert)]), with a function of your own",
    ("jt.data.transform", "Crop"): "Lambda(function), with image[top:bottom, left:right]",
    ("jt.data.transform", "InterpolationMode"): '"nearest" or "bilinear", as texts',
    ("jt.data.transform", "functional"): "the transforms themselves: Resize(4)(image)",
    **{("jt.distributed", f"{name}_multigpu"): f"jt.distributed.{name}" for name in _FOR_LISTS},
    ("jt.distributed", "reduce_op"): "jt.distributed.ReduceOp",
}
_ONE_DEVICE = "that a rank has one device here, and so one tensor where there were lists of them"
WHY = {  # of some of these names: what was found
    **{("jt.distributed", f"{name}_multigpu"): _ONE_DEVICE for name in _FOR_LISTS},
    **{("jt.flags", f): _LEVEL for f in _LEVELS},
    ("jt.distributed", "reduce_op"): "that an old name, which PyTorch gave up as well",
}
_OF_VARS = "debug_msg fetch_sync peek uncertain_shape"
_OPERATORS = "arg_reduce binary broadcast_var floor_int fuse_transpose index_var reduce reindex_var safe_clip unary"
JITTORS = {name: f"jt_edu.jittor_names:{name}" for name in _OF_VARS.split()}  # names that a Var lacks, too
JITTORS |= {name: f"jt_edu.jittor_operators:{name}" for name in _OPERATORS.split()}
JITTORS |= {name: f"jt_edu.sparse:{name}" for name in ("to_sparse", "to_sparse_csr")}
_OF_JT = (
    "LOG NanoString NanoVector clean display_memory_info dump_all_graphs fetch has_cuda "
    "liveness_info load_pth save_pth log_capture_scope make_module "
    "number_of_hold_vars number_of_lived_ops number_of_lived_vars profile_scope start_grad "
    "sync_all"
)
ROOMS = (  # loaded when asked for
    "core utils dataset misc special pytorch_converter compiler compile_extern einops jittor_names jittor_operators "
    "sparse linalg fft amp config zoo cuda library"
)
_OF_MATRICES = (
    "cholesky cholesky_solve det eig eigh inv logdet lstsq lu_factor matrix_exp matrix_rank pinv qr slogdet solve "
    "solve_triangular"
)
MATRICES = {name: f"jt_edu.linalg:{name}" for name in _OF_MATRICES.split()}
MATRICES |= {"inverse": "jt_edu.linalg:inv", "pinverse": "jt_edu.linalg:pinv"}
JITTORS_OWN = {name: f"jt_edu.jittor_names:{name}" for name in _OF_JT.split()}
JITTORS_OWN |= {name: f"jt_edu.jittor_operators:{name}" for name in ("all_equal", "reindex", "reindex_reduce")}
JITTORS_OWN |= {f: f"jt_edu.amp:{f}" for f in ("autocast", "get_autocast_dtype", "is_autocast_enabled")}
_OF_SPARSE = "sparse_coo sparse_coo_tensor sparse_csr sparse_csr_tensor"
JITTORS_OWN |= {name: f"jt_edu.sparse:{name}" for name in _OF_SPARSE.split()}
