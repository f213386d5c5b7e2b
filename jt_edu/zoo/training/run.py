"""Run: how does a training go through its epochs, and on from where it was stopped?

    update      batches -> a step (step.py) -> averages -> rate -> (checkpoint)
    epoch       updates -> measured on what was held out -> a row -> checkpoint; the best one so far is kept as well

On several ranks each works on its share of every batch; optimizers and batch norm do the rest (mpi/rank_team.py). All
ranks do the same, but only rank 0 writes (folder.py).
"""

from __future__ import annotations

import io
import math
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import islice
from typing import Any

from jt_edu.base.errors import ArgumentError, JtError
from jt_edu.base.plural import plural
from jt_edu.data.progress_bar import progress
from jt_edu.data.sampler import count_examples
from jt_edu.optim.swa_utils import AveragedModel, get_ema_multi_avg_fn
from jt_edu.variable.parallel_context import place, team
from jt_edu.variable.random import get_rng_state, set_global_seed, set_rng_state
from jt_edu.zoo.training import checkpoint, parts
from jt_edu.zoo.training.config import changes
from jt_edu.zoo.training.feed import check_partners, feeds
from jt_edu.zoo.training.folder import Folder
from jt_edu.zoo.training.history import History
from jt_edu.zoo.training.measure import measured
from jt_edu.zoo.training.source import named
from jt_edu.zoo.training.step import Step

PLACE = ("epoch", "update", "updates", "losses", "stale", "seconds")  # how far a run is, as a checkpoint has it


class DivergedError(JtError, ArithmeticError):
    """The loss of a training is nan or inf, and would stay so.

    Example:
        >>> raise DivergedError("a training has a finite loss", "nan in epoch 2", "--lr 0.001")
        Traceback (most recent call last):
        DivergedError: a training has a finite loss; found nan in epoch 2. Try: --lr 0.001.
    """


class Run:
    """One training: all of its state, and what moves it on.

    Args:
        cfg: the settings; see `config.py`.
    """

    def __init__(self, cfg: Any) -> None:
        check_partners(cfg, cfg.DATA.BATCH_SIZE)
        set_global_seed(cfg.SEED)
        self.cfg, self.folder = cfg, Folder(cfg)
        self.source = named(cfg.DATA.DATASET, cfg.DATA.DATA_PATH)
        check_partners(cfg, min(cfg.DATA.BATCH_SIZE, count_examples(self.source.train)))
        self.net = parts.network(cfg, self.source)
        self.train, self.held_out = feeds(cfg, self.source, self.net)
        self.optimizer = parts.optimizer(cfg, self.net)
        self.updates = len(self.train) // cfg.TRAIN.ACCUMULATION_STEPS  # of an epoch
        if not self.updates:
            found = f"{len(self.train)} of them for --grad-accum-steps {cfg.TRAIN.ACCUMULATION_STEPS}"
            raise ArgumentError("an epoch has enough batches for an update", found)
        self.schedule = parts.schedule(cfg, self.optimizer, self.updates)
        self.on_plateau = cfg.TRAIN.LR_SCHEDULER.NAME == "plateau"  # else a formula says the rate
        self.step = Step(cfg, self.net, self.optimizer)
        decay = cfg.TRAIN.EMA_DECAY
        average = get_ema_multi_avg_fn(decay)
        self.ema = AveragedModel(self.net, multi_avg_fn=average, use_buffers=True) if decay else None
        self.epoch, self.update, self.losses, self.stale, self.seconds = 0, 0, 0.0, 0, 0.0
        self.history = History(f"{cfg.MODEL.NAME} on {cfg.DATA.DATASET}")
        self.asked_to_stop = False
        if cfg.MODEL.RESUME:
            self._go_on(checkpoint.read(cfg.MODEL.RESUME))

    # --------------------------------------------------------------------------------------------- updates and epochs

    def train_all(self) -> History:
        """All epochs that are left."""
        self.folder.open(self.cfg.dump())
        t = self.cfg.TRAIN
        if self.epoch >= t.EPOCHS:
            self.folder.say(f"epoch {self.epoch} of {t.EPOCHS} is done; --epochs asks for more\n")
        with self._interrupts():
            while self.epoch < t.EPOCHS and not 0 < t.PATIENCE <= self.stale:
                self._train_epoch()
                self._end_epoch()
        if self.folder.unwritten:
            raise ArgumentError(f"a training leaves a checkpoint in {self.folder.path}", self.folder.unwritten)
        return self.history

    def _train_epoch(self) -> None:
        each, begin = self.cfg.TRAIN.ACCUMULATION_STEPS, time.perf_counter() - self.seconds
        batches = self.train.epoch(self.epoch, self.update * each)
        self.net.train()
        out = io.StringIO() if place()[0] else None  # to the screen, of rank 0
        bar = progress(range(self.update, self.updates), self.epoch + 1, self.cfg.TRAIN.EPOCHS, out)
        for _ in bar:
            bar.show(loss=self._updated(list(islice(batches, each))))
            self.seconds = time.perf_counter() - begin
            if self.asked_to_stop or (self.cfg.SAVE_EVERY and self.update % self.cfg.SAVE_EVERY == 0):
                self._save(checkpoint.LAST)
            if self.asked_to_stop:
                raise KeyboardInterrupt

    def _updated(self, batches: list[Any]) -> float:
        """Train on the batches of one update; their mean loss."""
        loss = self.step(*(part for batch in batches for part in batch))
        self.update += 1
        self._check_finite(loss, f"at update {self.update} of {self.updates} in epoch {self.epoch + 1}")
        self.losses += loss
        if self.ema is not None:
            self.ema.update_parameters(self.net)
        if not self.on_plateau and self.cfg.TRAIN.LR_SCHEDULER.ON_UPDATES:
            self.schedule.step()
        return loss

    def _end_epoch(self) -> None:
        rate, begin = self.optimizer.lr, time.perf_counter()
        net = self.net if self.ema is None else self.ema.module
        found = measured(net, self.held_out.epoch(0), self.source.classes, self.step.region)
        self._check_finite(found.loss, f"for the images held out, after epoch {self.epoch + 1}")
        self.history.rows.append({
            "epoch": self.epoch + 1, "train_loss": self.losses / self.updates, "eval_loss": found.loss,
            "eval_top1": found.top1, "eval_top5": found.top5, "lr": rate,
            "seconds": round(self.seconds + time.perf_counter() - begin, 3),
        })  # fmt: skip
        is_best = self.history.best is self.history.rows[-1]
        self.stale = 0 if is_best else self.stale + 1
        if self.on_plateau:
            self.schedule.step(found.top1)
        elif not self.cfg.TRAIN.LR_SCHEDULER.ON_UPDATES:
            self.schedule.step()
        self.epoch, self.update, self.losses, self.seconds = self.epoch + 1, 0, 0.0, 0.0
        self.folder.tell(self.history, self.cfg.TRAIN.EPOCHS)
        self._save(checkpoint.LAST, *[checkpoint.BEST] * is_best)

    def _check_finite(self, loss: float, where: str) -> None:
        """Stop a training that cannot go on, before anything is written."""
        if math.isfinite(loss):
            return
        way = f"--lr {self.cfg.TRAIN.BASE_LR / 10:g}, --clip-grad 1 or a longer --warmup-epochs"
        way += f", with --resume {self.folder.last}, as it was before" if self.folder.last.is_file() else ""
        raise DivergedError("a training has losses that are finite numbers", f"{loss} {where}", way)

    # ------------------------------------------------------------------------------------------------ written and read

    def state(self) -> dict[str, Any]:
        """All that the next update depends on; `checkpoint.py` says what is what."""
        ema = {} if self.ema is None else {"state_dict_ema": self.ema.module.state_dict()}
        return {
            "config": self.cfg.dump(), "state_dict": self.net.state_dict(), **ema,
            "optimizer": self.optimizer.state_dict(), "schedule": self.schedule.state_dict(),
            "scaler": self.step.scaler.state_dict(), "random": get_rng_state(),
            "place": {
                **{name: getattr(self, name) for name in PLACE}, "rows": self.history.rows,
                "averaged": 0 if self.ema is None else self.ema.n_averaged.item(),
            },
        }  # fmt: skip

    def _go_on(self, saved: dict[str, Any]) -> None:
        """Take over the state of a checkpoint, and tell which settings are others than there."""
        reached, was = saved["place"], checkpoint.settings_of(saved)
        self._check_own(reached, was, saved)
        self.net.load_state_dict(saved["state_dict"])
        settings = [{k: v for k, v in g.items() if k not in ("params", "lr")} for g in self.optimizer.param_groups]
        self.optimizer.load_state_dict(saved["optimizer"])
        for group, asked_for in zip(self.optimizer.param_groups, settings, strict=True):
            group.update(asked_for)
        others = changes(was, self.cfg)
        if self.on_plateau:
            self.schedule.load_state_dict(saved["schedule"])
        else:
            self.schedule.step(saved["schedule"]["last_epoch"])
        if self.ema is not None:
            self.ema.load_state_dict({f"module.{k}": v for k, v in saved["state_dict_ema"].items()}, strict=False)
            self.ema.n_averaged.update(reached["averaged"])
        self.step.scaler.load_state_dict(saved["scaler"])
        set_rng_state(saved["random"])
        vars(self).update({name: reached[name] for name in PLACE})
        self.history.rows = list(reached["rows"])
        self.folder.say(
            "".join(f"{key} is {now!r} from here on, and was {then!r}\n" for key, (then, now) in others.items())
        )

    def _check_own(self, reached: dict[str, Any], was: Any, saved: dict[str, Any]) -> None:
        """Refuse a checkpoint of another training."""
        asked = f"{self.cfg.MODEL.RESUME} is a checkpoint of this training"
        if was.MODEL.NAME != self.cfg.MODEL.NAME:
            raise ArgumentError(asked, f"a checkpoint of {was.MODEL.NAME} for {self.cfg.MODEL.NAME}")
        if reached["updates"] != self.updates:
            found = f"epochs of {plural(reached['updates'], 'update')} for epochs of {self.updates}"
            raise ArgumentError(asked, found, "its own --batch-size and --grad-accum-steps, on the same data")
        for wanted, name in ((self.ema is not None, "state_dict_ema"), (self.step.scaler.is_enabled(), "scaler")):
            if wanted is not bool(saved.get(name)):
                raise ArgumentError(asked, f"one {'without' if wanted else 'with'} {name}")

    def _save(self, *names: str) -> None:
        if self.folder.is_mine:
            self.folder.save(self.state(), *names)

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
            if self.folder.last.is_file():
                self.folder.say(f"Stopped. To go on: python -m jt_edu.zoo.train --resume {self.folder.last}\n")
            raise
        finally:
            if waits:
                signal.signal(signal.SIGINT, before)
