"""Lens: what can be seen of a computation, as plain data that a view draws?

    recording     graph, kernels, values, memory and times of some Vars: one page
    passes        how the operators become kernels, step by step
    edits         a kernel written otherwise; trial and examine run it first, in a process of its own
    assembly      what the compiler made of a kernel
    stepping      what a kernel does, line by line and cell by cell
    tape          the steps of a gradient; tapesteps and localrules say what each is, differences checks one
    lifetimes     which arrays are in memory, and who keeps them; footprint asks it of Vars, recordings and traces
    machine       how fast this computer is at best; roofline compares kernels with it
    training      what is worth knowing of each step of a training; loop pauses and resumes it

Nothing here draws, and nothing here knows a notebook. What only a run can tell comes from the trace.
"""

__all__: list[str] = []
