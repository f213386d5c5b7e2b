"""Lens: what can be seen of a computation, as plain data that a view draws?

Read `recording` first: it makes the page that the other files add to, or look at.

    recording     graph, kernels, values, memory and times of some Vars: one page
                  with page, thumbnails and colours: what is on it; aside: runs that leave no trace; clock: warm times
    passes        how the operators become kernels, step by step
    stepping      what a kernel does, line by line and cell by cell
    edits         a kernel written otherwise, with trial and examine, which run it first, in a process of its own,
                  and guard, with which it cannot harm the notebook
    assembly      what the compiler made of a kernel
    tape          the steps of a gradient, with tapesteps, and localrules and maps, which say what each is
    differences   is a gradient right?
    lifetimes     which arrays are in memory, and who keeps them
    footprint     the same, asked of Vars, recordings and traces
    roofline      which kernels wait for memory, with machine: how fast this computer is at best
    training      what is worth knowing of each step of a training
    loop          a training that can be paused and resumed

Nothing here draws, and nothing here knows a notebook. What only a run can tell comes from the trace.
"""

__all__: list[str] = []
