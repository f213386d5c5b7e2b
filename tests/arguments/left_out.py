"""Arguments without a row, and why: patterns of what surface.py calls them."""

LEFT_OUT = {
    "jt.nn.*(inplace=)": "a wish; nothing is overwritten; what is no bool is refused: tests/layers/test_names.py",
    "jt.optim.LBFGS.step(loss=)": "needed; without it a call is refused in words: tests/misuse/optim.py",
    "jt.*grad(retain_graph=)": "as of backward",
    "jt.Var.backward(retain_graph=)": "PyTorch's word; a graph is kept while it is held, as the docstring says",
    "jt.*_grad(function=)": "what a decorator without brackets is given: tests/floors/test_gradients.py",
    "jt.*sort(stable=)": "the order of equal numbers is kept always, as the docstring says",
    "jt.isin(assume_unique=)": "a promise of the caller; the answer is the same, as the docstring says",
    "jt.nn.gumbel_softmax(eps=)": "PyTorch's word, which PyTorch does not use either",
    "jt.data.DataLoader(pin_memory=)": "PyTorch's word; no copy starts in main memory, as the docstring says",
    "jt.data.DataLoader(prefetch_factor=)": "how far workers are ahead takes time to see: tests/data/test_workers.py",
    "jt.data.*(buffer_size=)": "the same",
    "jt.Var.*mpi_*": "many ranks: tests/ranks",
    "jt.Var.nccl_*": "the same",
    "jt.*Module.mpi_param_broadcast(root=)": "the same",
    "jt.Var.*(arrays=)": "for gradient rules, which hand on the index arrays of a node: tests/floors/test_gradients.py",
    "jt.Var.reduce_as(reducer=)": "the same",
    "jt.machine(again=)": "measures for seconds: tests/floors/test_machine.py",
    "jt.recording(run=)": "tests/floors/test_recording.py",
    "jt.edit_kernel(seconds=)": "ends a process when time is over: tests/floors/test_edits.py",
    "jt.Edit(seconds=)": "the same",
}
