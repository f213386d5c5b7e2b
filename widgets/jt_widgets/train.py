"""TrainPanel: watch a training loop, stop it between two steps, and look into any of the last ones.

New rows are sent as they come. The document, of which a saved page is made, is written anew when training ends.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from typing import Any

import jt_edu as jt
from jt_edu.base.errors import ArgumentError
from jt_edu.draw import charts
from jt_edu.lens.document_schema import empty
from jt_edu.lens.recording import Recording
from jt_edu.lens.train_monitor import Loss, Row, Training, page_part, text
from jt_edu.lens.training_loop import Loop
from jt_widgets.pages import say_instead
from jt_widgets.tape import Taped, TapeView, taped
from jt_widgets.view import View


class TrainPanel(View):
    """A training loop; see `train_panel`."""

    kind = "train"

    def __init__(self, training: Training, **state: Any) -> None:
        self.training, self.tapes = training, dict[int, Taped]()
        self.loop = Loop(training, lambda news: self.send(news))  # noqa: PLW0108  `send` as it is by then
        super().__init__(self._now(), **state)

    def step(self) -> Row:
        """Train on one batch; its row: loss, gradient norms, update / weight, dead units. The view shows it."""
        return self.loop.step()

    async def train(self, steps: int | None = None, epochs: int | None = None) -> None:
        """Train for a number of batches or epochs; the buttons work meanwhile. After an interrupt, call it again."""
        try:
            await self.loop.train(steps, epochs)
        except (KeyboardInterrupt, asyncio.CancelledError) as stop:
            say_instead(stop, f"Stopped at step {self.training.done} of {self.loop.planned}; train(...) goes on.")
            raise
        finally:
            self.show_again(self._now())

    def pause(self, wanted: bool = True) -> None:
        """Stop before the next step; `pause(False)` goes on."""
        self.loop.pause(wanted)

    def tape_at(self, step: int) -> TapeView:
        """Forward and backward of one of the last steps, with the parameters that it began with."""
        return TapeView(self._taped(step))

    def answer(self, message: dict[str, Any]) -> dict[str, Any]:
        """What the buttons ask, and what an open tape asks in turn."""
        match message:
            case {"do": "pause" | "resume" as wanted}:
                self.loop.pause(wanted == "pause")
            case {"do": "step"}:
                self.loop.ask_step()
            case {"do": "rows"}:
                return {"train": page_part(self.training, self.loop.status())["train"]}
            case {"do": "tape", "step": int(step)}:
                told = self.tapes[step] = self._taped(step)
                for old in list(self.tapes)[: -self.training.keep]:
                    del self.tapes[old]
                return told.packed()
            case {"do": "of tape", "step": int(step), "ask": dict(question)} if step in self.tapes:
                return dict(self.tapes[step].answer(question))
            case _:
                raise ArgumentError("a training panel is asked to pause, resume, step, or open a tape", repr(message))
        return {"status": self.loop.status()}

    def _taped(self, step: int) -> Taped:
        with self.loop.at(step) as loss:
            return taped(loss, [p for p in self.training.params if p.requires_grad])

    def _now(self) -> Recording:
        return Recording(empty() | page_part(self.training, self.loop.status()))

    def refresh(self) -> None:
        """Bring the document up to date."""
        if self.recording.page["train"]["status"] != self.loop.status():  # a step was made since
            self.show_again(self._now())

    def picture_svg(self) -> str:
        """The curves."""
        return charts.training(self.summary, self.recording.page["train"])

    def __repr__(self) -> str:
        return text(self.training)


def train_panel(
    model: jt.nn.Module, optimizer: jt.optim.Optimizer, loss: Loss, batches: Iterable[Any], *,
    scheduler: Any = None, keep: int = 16, keep_bytes: int = 256 << 20, validation: Iterable[Any] | None = None,
    accuracy: Loss | None = None, **state: Any,
) -> TrainPanel:  # fmt: skip
    """Watch a training loop live: loss, validation, gradient norms and update / weight by module, dead units.

    Args:
        model: a module; its ReLU modules are watched for dead units.
        optimizer: one that moves its parameters. Of an LBFGS only the loss is known.
        loss: called as `loss(model, *batch)`; returns one number. `lambda net, x, y: cross_entropy_loss(net(x), y)`.
        batches, validation: a DataLoader or a list each. After each epoch the loss on `validation` is measured.
        scheduler: its `step()` is called after each step, with the loss if it asks for one.
        keep, keep_bytes: how many of the last steps and spikes can be opened as a tape, and how large they may be.
        accuracy: called as `loss` is, on `validation`. `lambda net, x, y: (net(x).argmax(1) == y).float().mean()`.

    Example:
        >>> import jt_edu as jt
        >>> net, batches = jt.nn.Linear(2, 1), [(jt.ones(8, 2), jt.zeros(8, 1))]
        >>> panel = train_panel(net, jt.optim.SGD(net.parameters(), 0.1), lambda net, x, y: net(x).mean(), batches)
        >>> panel.step()["step"], list(panel.training.kept)
        (1, [1])
    """
    given = (model, optimizer, loss, batches, scheduler, keep, keep_bytes, validation, accuracy)
    return TrainPanel(Training(*given), **state)
