"""Run: how does a training go through its epochs, and on from where it was stopped?

    update      batches -> losses -> gradients -> clipped -> parameters -> averages -> rate -> (checkpoint)
    epoch       updates -> measured on what was held out -> a row -> checkpoint; the best one so far is kept as well

On several ranks each works on its share of every batch; optimizers and batch norm do the rest (mpi/rank_team.py). All
ranks do the same, but only rank 0 writes.
"""

from __future__ import annotations

import io
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from itertools import count, islice
from pathlib import Path
from typing import Any

import jt_edu.nn.serialization as files
from jt_edu.base.errors import ArgumentError
from jt_edu.base.plural import plural
from jt_edu.capture.compiled_step import compile
from jt_edu.data.progress_bar import progress, screen
from jt_edu.nn import cross_entropy_loss
from jt_edu.optim.swa_utils import AveragedModel, get_ema_multi_avg_fn
from jt_edu.variable.parallel_context import place, team
from jt_edu.variable.random import get_rng_state, set_global_seed, set_rng_state
from jt_edu.variable.var import Var
from jt_edu.zoo.training import checkpoint, parts
from jt_edu.zoo.training.config import changes
from jt_edu.zoo.training.data import Mixing, feeds
from jt_edu.zoo.training.history import History, write
from jt_edu.zoo.training.measure import measured
from jt_edu.zoo.training.source import named


class Run:
    """One training: all of its state, and what moves it on.

    Args:
        cfg: the settings; see `config.py`.
    """

    def __init__(self, cfg: Any) -> None:
        set_global_seed(cfg.SEED)
        self.cfg, self.folder = cfg, _agreed(cfg)
        self.source = named(cfg.DATA.DATASET, cfg.DATA.DATA_PATH)
        self.net = parts.network(cfg, self.source)
        self.train, self.held_out = feeds(cfg, self.source, self.net)
        self.mix = Mixing(cfg, cfg.MODEL.NUM_CLASSES or len(self.source.classes))
        self.optimizer = parts.optimizer(cfg, self.net)
        self.updates = len(self.train) // cfg.TRAIN.ACCUMULATION_STEPS  # of an epoch
        if not self.updates:
            found = f"{len(self.train)} of them for --grad-accum-steps {cfg.TRAIN.ACCUMULATION_STEPS}"
            raise ArgumentError("an epoch has enough batches for an update", found)
        self.schedule = parts.schedule(cfg, self.optimizer, self.updates)
        self.context, self.scaler = parts.precision(cfg)
        decay = cfg.TRAIN.EMA_DECAY
        average = get_ema_multi_avg_fn(decay)
        self.ema = AveragedModel(self.net, multi_avg_fn=average, use_buffers=True) if decay else None
        whole = compile(self._whole_step) if cfg.COMPILE else self._whole_step
        self.step: Callable[..., Any] = self._step_by_step if self._needs_gradients() else whole
        self.epoch, self.update, self.losses, self.stale = 0, 0, 0.0, 0
        self.history = History(f"{cfg.MODEL.NAME} on {cfg.DATA.DATASET}")
        self.asked_to_stop, self.unwritten, self.seconds = False, "", 0.0
        if cfg.MODEL.RESUME:
            self._go_on(checkpoint.read(cfg.MODEL.RESUME))

    # ------------------------------------------------------------------------------------------------- one update

    def _needs_gradients(self) -> bool:
        t = self.cfg.TRAIN
        return bool(t.CLIP_GRAD or self.scaler is not None or t.ACCUMULATION_STEPS > 1)

    def _loss(self, x: Var, y: Var) -> Var:
        with self.context():
            scores = self.net(x)
        smoothing = 0.0 if y.ndim > 1 else self.cfg.MODEL.LABEL_SMOOTHING  # labels that were mixed are smooth already
        return cross_entropy_loss(scores.float(), y, label_smoothing=smoothing)

    def _whole_step(self, x: Var, y: Var) -> Var:
        """Gradients, new parameters and the loss in one go."""
        loss = self._loss(x, y)
        self.optimizer.step(loss)
        return loss

    def _step_by_step(self, *batches: Any) -> float:
        """The same for the mean of several batches, with gradients that are unscaled and clipped on the way."""
        several, total = len(batches) // 2, 0.0
        for x, y in zip(batches[::2], batches[1::2], strict=True):
            loss = self._loss(x, y) / several
            scale = 1.0 if self.scaler is None else self.scaler.get_scale()
            scaled = loss if self.scaler is None else self.scaler.scale(loss)
            self.optimizer.backward(scaled)
            total += scaled.item() / scale
        if self.scaler is not None:
            self.scaler.unscale_(self.optimizer)
        if self.cfg.TRAIN.CLIP_GRAD:
            parts.clip(self.net.parameters(), self.cfg.TRAIN.CLIP_MODE, self.cfg.TRAIN.CLIP_GRAD)
        if self.scaler is None:
            self.optimizer.step()
        else:
            self.scaler.step(self.optimizer)
            self.scaler.update()
            self.optimizer.zero_grad()
        return total

    def _updated(self, batches: list[Any]) -> float:
        """Train on the batches of one update; their mean loss."""
        flat = [part for k, batch in enumerate(batches) for part in self.mix(batch, self.epoch, self.update, k)]
        loss = float(self.step(*flat))
        if self.ema is not None:
            self.ema.update_parameters(self.net)
        self.update += 1
        self.losses += loss
        if self.cfg.TRAIN.LR_SCHEDULER.ON_UPDATES and self.cfg.TRAIN.LR_SCHEDULER.NAME != "plateau":
            self.schedule.step()
        return loss

    # ------------------------------------------------------------------------------------------------------ epochs

    def train_all(self) -> History:
        """All epochs that are left."""
        self._open()
        if self.epoch >= self.cfg.TRAIN.EPOCHS:
            self._say(f"epoch {self.epoch} of {self.cfg.TRAIN.EPOCHS} is done; --epochs asks for more\n")
        with self._interrupts():
            while self.epoch < self.cfg.TRAIN.EPOCHS and not self._has_stalled():
                self._train_epoch()
                self._end_epoch()
        if self.unwritten:
            raise ArgumentError(f"a training leaves a checkpoint in {self.folder}", self.unwritten)
        return self.history

    def _open(self) -> None:
        """The folder and its settings: what cannot be written is told before hours have passed."""
        if place()[0]:
            return
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            write(self.folder / "config.yaml", self.cfg.dump())
        except OSError as error:
            raise ArgumentError("a run has a folder to write to", str(error), "--output FOLDER") from None

    def _has_stalled(self) -> bool:
        return bool(0 < self.cfg.TRAIN.PATIENCE <= self.stale)

    def _train_epoch(self) -> None:
        each, begin = self.cfg.TRAIN.ACCUMULATION_STEPS, time.perf_counter() - self.seconds
        batches = self.train.epoch(self.epoch, self.update * each)
        self.net.train()
        several = _Several(batches, each, self.updates - self.update)
        bar = progress(several, self.epoch + 1, self.cfg.TRAIN.EPOCHS, _out())
        for few in bar:
            bar.show(loss=self._updated(few))
            self.seconds = time.perf_counter() - begin
            every = self.cfg.SAVE_EVERY
            if every and self.update % every == 0:
                self._save(checkpoint.LAST)
            if self.asked_to_stop:
                self._save(checkpoint.LAST)
                raise KeyboardInterrupt

    def _end_epoch(self) -> None:
        rate, begin = self.optimizer.lr, time.perf_counter()
        net = self.net if self.ema is None else self.ema.module
        found = measured(net, self.held_out.epoch(0), self.source.classes, self.context)
        self.history.rows.append({
            "epoch": self.epoch + 1, "train_loss": self.losses / self.updates, "eval_loss": found.loss,
            "eval_top1": found.top1, "eval_top5": found.top5, "lr": rate,
            "seconds": round(self.seconds + time.perf_counter() - begin, 3),
        })  # fmt: skip
        is_best = self.history.best is self.history.rows[-1]
        self.stale = 0 if is_best else self.stale + 1
        if self.cfg.TRAIN.LR_SCHEDULER.NAME == "plateau":
            self.schedule.step(found.top1)
        elif not self.cfg.TRAIN.LR_SCHEDULER.ON_UPDATES:
            self.schedule.step()
        self.epoch, self.update, self.losses, self.seconds = self.epoch + 1, 0, 0.0, 0.0
        self._tell()
        self._save(checkpoint.LAST, *[checkpoint.BEST] * is_best)

    # ------------------------------------------------------------------------------------------ written and read

    def state(self) -> dict[str, Any]:
        """All that the next update depends on; `checkpoint.py` says what is what."""
        ema = {} if self.ema is None else {"state_dict_ema": self.ema.module.state_dict()}
        return {
            "config": self.cfg.dump(), "state_dict": self.net.state_dict(), **ema,
            "optimizer": self.optimizer.state_dict(), "schedule": self.schedule.state_dict(),
            "scaler": None if self.scaler is None else self.scaler.state_dict(), "random": get_rng_state(),
            "place": {
                "epoch": self.epoch, "update": self.update, "updates": self.updates, "losses": self.losses,
                "stale": self.stale, "seconds": self.seconds, "rows": self.history.rows,
                "averaged": 0 if self.ema is None else self.ema.n_averaged.item(),
            },
        }  # fmt: skip

    def _go_on(self, saved: dict[str, Any]) -> None:
        place, was = saved["place"], checkpoint.settings_of(saved)
        asked, found = f"{self.cfg.MODEL.RESUME} is a checkpoint of this training", ""
        if was.MODEL.NAME != self.cfg.MODEL.NAME:
            raise ArgumentError(asked, f"a checkpoint of {was.MODEL.NAME} for {self.cfg.MODEL.NAME}")
        if place["updates"] != self.updates:
            found = f"epochs of {plural(place['updates'], 'update')} for epochs of {self.updates}"
            raise ArgumentError(asked, found, "its own --batch-size and --grad-accum-steps, on the same data")
        for part, name in ((self.ema, "state_dict_ema"), (self.scaler, "scaler")):
            if (part is None) is not (saved.get(name) is None):
                raise ArgumentError(asked, f"one {'with' if part is None else 'without'} {name}")
        self.net.load_state_dict(saved["state_dict"])
        settings = [{k: v for k, v in g.items() if k not in ("params", "lr")} for g in self.optimizer.param_groups]
        self.optimizer.load_state_dict(saved["optimizer"])
        for group, asked_for in zip(self.optimizer.param_groups, settings, strict=True):
            group.update(asked_for)
        others = changes(was, self.cfg)
        if any(key.startswith("TRAIN.") for key in others) and self.cfg.TRAIN.LR_SCHEDULER.NAME != "plateau":
            self.schedule.step(saved["schedule"]["last_epoch"])
        else:
            self.schedule.load_state_dict(saved["schedule"])
        if self.ema is not None:
            self.ema.load_state_dict({f"module.{k}": v for k, v in saved["state_dict_ema"].items()}, strict=False)
            self.ema.n_averaged.update(place["averaged"])
        if self.scaler is not None:
            self.scaler.load_state_dict(saved["scaler"])
        set_rng_state(saved["random"])
        for name in ("epoch", "update", "losses", "stale", "seconds"):
            setattr(self, name, place[name])
        self.history.rows = list(place["rows"])
        self._say("".join(f"{key} is {now!r} from here on, and was {then!r}\n" for key, (then, now) in others.items()))

    def _save(self, *names: str) -> None:
        """Write the state; what cannot be written now is told, and tried again next time."""
        if place()[0]:
            return
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            for name in names:
                files.save(self.state(), self.folder / name)
            self.unwritten = ""
        except OSError as error:
            self.unwritten = str(error)
            self._say(f"no checkpoint: {error}. The one before is whole; the next one is tried when it is due.\n")

    def _tell(self) -> None:
        """The last row, in words, in the CSV file and as curves."""
        if place()[0]:
            return
        row = self.history.rows[-1]
        self._say(
            f"epoch {row['epoch']}/{self.cfg.TRAIN.EPOCHS}  eval loss {row['eval_loss']:.4f}  "
            f"top1 {row['eval_top1']:.2f}  top5 {row['eval_top5']:.2f}  lr {row['lr']:.2e}  {row['seconds']:.1f} s\n"
        )
        with suppress(OSError):  # which the checkpoint tells
            write(self.folder / "history.csv", self.history.csv)
        self.history.show()

    def _say(self, text: str) -> None:
        if text and not place()[0] and (stream := screen()) is not None:
            stream.write(text)
            stream.flush()

    @contextmanager
    def _interrupts(self) -> Iterator[None]:
        """Ctrl-C ends a training between two updates, with a checkpoint; a second one at once. Ranks end at once."""
        before = signal.getsignal(signal.SIGINT)

        def note(_number: int, _frame: Any) -> None:
            signal.signal(signal.SIGINT, before)
            self.asked_to_stop = True

        waits = team() is None and threading.current_thread() is threading.main_thread()
        if waits:
            signal.signal(signal.SIGINT, note)
        try:
            yield
        except KeyboardInterrupt:
            last = self.folder / checkpoint.LAST
            if last.is_file():
                self._say(f"Stopped. To go on: python -m jt_edu.zoo.train --resume {last}\n")
            raise
        finally:
            if waits:
                signal.signal(signal.SIGINT, before)


def _folder_of(cfg: Any) -> Path:
    """The folder of OUTPUT, if no other run is in it; without OUTPUT the next free one."""
    last = Path(cfg.OUTPUT) / checkpoint.LAST
    if cfg.OUTPUT:
        if last.exists() and (not cfg.MODEL.RESUME or Path(cfg.MODEL.RESUME).resolve().parent != last.resolve().parent):
            way = f"--resume {last}, or another --output"
            raise ArgumentError("a run begins in a folder without one", f"{str(last)!r}", way)
        return last.parent
    free = (Path("runs") / f"{cfg.MODEL.NAME}-{k}" for k in count(1))
    return next(path for path in free if not path.exists())


def _agreed(cfg: Any) -> Path:
    """What rank 0 found, or the error that it met."""
    crew = team()
    found: Any = None
    if not place()[0]:
        try:
            found = _folder_of(cfg)
        except ArgumentError as error:
            found = error
    found = found if crew is None else crew.agree(found)
    if isinstance(found, ArgumentError):
        raise found
    return Path(found)


def _out() -> Any:
    """Where the bar goes: to the screen, of rank 0."""
    return io.StringIO() if place()[0] else None


class _Several:
    """Batches in lists of a few, as many lists as there are updates left."""

    def __init__(self, batches: Iterator[Any], each: int, count: int) -> None:
        self.batches, self.each, self.count = batches, each, count

    def __iter__(self) -> Iterator[list[Any]]:
        for _ in range(self.count):
            yield list(islice(self.batches, self.each))

    def __len__(self) -> int:
        return self.count
