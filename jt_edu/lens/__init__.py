"""Lens: what can be seen of a computation, as plain data that a view draws?

Read `recording` first: it makes the page that the other files add to, or look at.

    recording           graph, kernels, values, memory and times of some Vars: one page
                        with document_schema, thumbnails and syntax: what is on it; isolated_run: runs that leave no
                        trace; kernel_timer: warm times
    fusion_passes       how the operators become kernels, step by step
    kernel_debugger     what a kernel does, line by line and cell by cell
    kernel_edit         a kernel written otherwise, with edit_process and verify_edit, which run it first, in a process
                        of its own, and sandbox, with which it cannot harm the notebook
    assembly            what the compiler made of a kernel
    tape                the steps of a gradient, with tape_steps, and gradient_rules and index_formulas: what each is
    gradcheck           is a gradient right?
    liveness            which arrays are in memory, and who keeps them
    memory_timeline     the same, asked of Vars, recordings and traces
    roofline            which kernels wait for memory, with machine: how fast this computer is at best
    train_monitor       what is worth knowing of each step of a training
    compile_progress    a bar while kernels are compiled, with compile_processes, which help
    training_loop       a training that can be paused and resumed

Nothing here draws, and nothing here knows a notebook. What only a run can tell comes from the trace.
"""

__all__: list[str] = []
