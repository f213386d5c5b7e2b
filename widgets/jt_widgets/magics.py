"""Magics: cells that several ranks run.

    %%ranks 4                          four simulated ranks, whose names stay: ranks[2].x, ranks["x"], ranks.record
    %%ranks 4 slow=2:3.0 --view        rank 2 computes three times as long; the ranks' timeline under the cell
    %%mpirun -n 4                      the same cell as a real MPI job, in four processes of its own
    %%mpi -n 4                         another name of %%ranks, for Jittor's users

`import jt_widgets` in a notebook is enough; so is %load_ext jt_widgets. See jt_edu/mpi/notebook/namespaces.py.
"""

from __future__ import annotations

from typing import Any

from IPython.core.getipython import get_ipython
from IPython.core.magic import Magics, cell_magic, magics_class

from jt_edu.mpi.mpirun_jobs.remote import run_under_mpi
from jt_edu.mpi.notebook.namespaces import Namespaces
from jt_widgets.figures import show_open_figures
from jt_widgets.orders import Order, read_order
from jt_widgets.pages import Live, briefly, parsed, show
from jt_widgets.publisher import published


@magics_class
class RankMagics(Magics):
    """The three magics."""

    @cell_magic
    def ranks(self, line: str, cell: str) -> None:
        """Run a cell on several simulated ranks, each with names of its own.

            %%ranks 4
            x = comm.allreduce(rank)
            print(rank, "of", size, "has", x)

        Every rank has `comm`, `rank` and `size`, and a copy of each name of the notebook that its cells read. The names
        stay: `ranks[2].x` is rank 2's x, `ranks["x"]` a list with one for each rank, `ranks.record` what they said to
        each other. Nothing hangs: of ranks that wait for each other you are told, with their lines.

            policy=random seed=3       who runs next: round_robin, random, clock, or replay (as in the last cell)
            synchronous                every send waits for its receive
            computing=modelled         kernels take time on the ranks' clocks: what their bytes and operations would, or
                                       what they did take (measured). Without it only comm.compute(ns) does
            slow=2:3.0                 rank 2 computes three times as long
            timeout=5                  who waits longer than 5 s on the clock of its rank gives up
            drop=3:10                  rank 3 is gone at its 10th call
            delay=0-1:5000             messages from 0 to 1 take 5000 ns longer
            lose=0-1:2                 the second message from 0 to 1 never arrives
            network=latency:2500,overhead:1500,byte:0.2       times of messages, in ns
            --view                     the ranks' timeline under the cell
            --fresh                    forget the names of the ranks, and begin anew
            --go-on                    show what fails, and raise nothing
        """
        with briefly():
            self._on_ranks(read_order(line, "ranks"), cell)

    @cell_magic
    def mpi(self, line: str, cell: str) -> None:
        """The same as %%ranks: `%%mpi -n 4` runs a cell on four simulated ranks. See %%ranks?."""
        with briefly():
            self._on_ranks(read_order(line, "mpi"), cell)

    @cell_magic
    def mpirun(self, line: str, cell: str) -> None:
        """Run a cell as a real MPI job: each rank is a process of its own, and ends with the cell.

            %%mpirun -n 4 --timeout 30
            x = comm.allreduce(rank)

        Every rank has `comm`, `rank` and `size`, and a copy of each name of the notebook that the cell reads. What it
        prints, shows and fails with comes back, and `mpirun.record`, `mpirun.results` (what was given to jt.report).

            -n 4             how many ranks
            --timeout 30     seconds after which the job is ended; 60 if nothing is said
            --view, --go-on  as for %%ranks
        """
        with briefly():
            order, shell = read_order(line, "mpirun"), self.shell
            program = parsed(shell, cell)
        with briefly(go_on=order.go_on):
            names, live = (shell.user_ns, shell.user_ns_hidden), Live()
            run, job = run_under_mpi(program, order.size or 4, *names, order.timeout, live.look)
            shell.user_ns["mpirun"] = job
            show(run, live, view=order.view, go_on=order.go_on)

    def _on_ranks(self, order: Order, text: str) -> None:
        shell, found = self.shell, self.shell.user_ns.get("ranks")
        space = found if isinstance(found, Namespaces) else None
        if space is None or order.fresh or order.size not in (None, space.size):
            space = Namespaces(order.size or (space.size if space else 4))
        options, cell, live = order.options(space.record), parsed(shell, text), Live()
        with published(shell):
            options["while_waiting"] = lambda: live.look(space.running)
            run = space.run(cell, shell.user_ns, shell.user_ns_hidden, self._form, **options)
        shell.user_ns["ranks"] = space
        show(run, live, view=order.view, go_on=order.go_on)

    def _form(self, value: Any) -> dict[str, Any] | None:
        """What a notebook would show at the end of a cell with this value."""
        show_open_figures()
        if value is None:
            return None
        bundle, _ = self.shell.display_formatter.format(value)
        return dict(bundle) or {"text/plain": ""}


def load_ipython_extension(shell: Any) -> None:
    """%load_ext jt_widgets."""
    shell.register_magics(RankMagics)


def register() -> None:
    """Give the magics to the notebook that imports us, if one does."""
    shell = get_ipython()
    if shell is not None and "ranks" not in shell.magics_manager.magics["cell"]:
        load_ipython_extension(shell)
