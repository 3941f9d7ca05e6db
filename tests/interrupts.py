"""Interrupts at chosen and at random moments, and what a model must be like after them."""

import collections
import copy
import dis
import faulthandler
import os
import pickle
import random
import signal
import sys
import threading
import time
from functools import cache, lru_cache

import numpy as np

from forks import FORKSClassifier, OnlineKernelClassifier
from forks.estimators.saving import as_bytes, from_bytes
from forks.kernels import Gaussian
from forks.learners import BPAS, FORKS, KOGD, NOGD, PROSNKONS, Adaptive, SkeGD, SketchedKONS
from forks.learners.catalogue import CATALOGUE, Setting
from oracle_streams import made_up

X, Y = made_up(300, 4, 0)
Y = np.where(Y == 0.0, 1.0, Y)
THREE = np.digitize(X[:, 1] * X[:, 2] + X[:, 0], [-0.5, 0.5])
FIRST = 20  # rows of the first call

MODELS = {
    "KOGD": OnlineKernelClassifier(KOGD()),
    "default": OnlineKernelClassifier({"name": "adaptive", "budget": 20}),
    "Adaptive": OnlineKernelClassifier(Adaptive(buffer=50)),
    "FORKS": OnlineKernelClassifier(
        FORKS(budget=8, rank=5, update_cycle=7, clip=0.5, projection="next", on_update="carry"),
        random_state=0,
    ),
    "SkeGD": OnlineKernelClassifier(SkeGD(budget=10, update_cycle=5), random_state=0),
    "NOGD": OnlineKernelClassifier(NOGD(budget=20, rank=5), random_state=0),
    "group": OnlineKernelClassifier(BPAS(budget=10)),
    "group that grows": OnlineKernelClassifier(SketchedKONS(), random_state=0),
    "SKETCHED-KONS": OnlineKernelClassifier(SketchedKONS(), random_state=0),
    "PROS-N-KONS": OnlineKernelClassifier(PROSNKONS(beta=3.0), random_state=0),
    "first rows": FORKSClassifier(budget=20, rank=10, update_cycle=7, random_state=0),
    "balanced": OnlineKernelClassifier(class_weight="balanced"),
    "by name": OnlineKernelClassifier("fogd", random_state=0),
    "group by name": OnlineKernelClassifier("bpa-s", class_weight="balanced"),
}


def labels(name):
    """Three classes for the groups of engines, two for others."""
    return THREE if name.startswith("group") else Y


# ---- at chosen moments -----------------------------------------------------------------------


def _may_be_interrupted(name):
    """Does CPython look for signals when it has done this instruction?"""
    return name.startswith(("RESUME", "CALL", "JUMP_BACKWARD", "POP_JUMP_BACKWARD"))


@lru_cache(None)
def _instructions(code):
    """Of each offset: is it an instruction after which interrupts come, and its handler."""
    table = dis._parse_exception_table(code)

    def handler(offset):
        inside = [entry.target for entry in table if entry.start <= offset < entry.end]
        return inside[-1] if inside else None

    return {
        each.offset: (_may_be_interrupted(each.opname), handler(each.offset))
        for each in dis.get_instructions(code)
    }


class Cutter:
    """Raise KeyboardInterrupt at the k-th moment of forks' code at which a signal could do so.

    A signal's exception comes out of the instruction that looks for signals. A trace function can
    only raise at the next one; moments at which that is not under the same handler are left out.
    """

    def __init__(self, k=None):
        self.k, self.seen, self.place = k, 0, None

    def __call__(self, work):
        before = sys.gettrace()
        sys.settrace(self._trace)
        try:
            return work()
        finally:
            sys.settrace(before)

    def _trace(self, frame, event, arg):
        if "/forks/" not in frame.f_code.co_filename or "site-packages" in frame.f_code.co_filename:
            return None
        frame.f_trace_opcodes, frame.f_trace_lines = True, False
        instructions, last = _instructions(frame.f_code), None

        def local(frame, event, arg):
            nonlocal last
            if event == "opcode":
                if last is not None:
                    looks, handler = instructions[last]
                    if looks and handler == instructions[frame.f_lasti][1]:
                        self.seen += 1
                        if self.seen == self.k:
                            self.place = f"{frame.f_code.co_qualname}:{frame.f_lineno}"
                            raise KeyboardInterrupt
                last = frame.f_lasti
            return local

        return local


# ---- what must be ----------------------------------------------------------------------------


@cache
def started(name):
    """A model that has learned the first rows; to be copied."""
    y = labels(name)
    return MODELS[name].partial_fit(X[:FIRST], y[:FIRST], classes=np.unique(y))


class Course:
    """A model that is never interrupted: its bytes and scores after each row."""

    def __init__(self, start, X, y):
        model, self.X, self.y = copy.deepcopy(start), X, y
        self.bytes, self.scores = {model.n_rounds_: as_bytes(model)}, {}
        for i in range(model.n_rounds_, len(X)):
            self.scores[i] = model.prequential(X[i : i + 1], y[i : i + 1])
            self.bytes[i + 1] = as_bytes(model)

    def check(self, model):
        """Ask that a model is as this one was at that row, and goes on as it did."""
        r = model.n_rounds_
        engine = model.engine_
        for each in getattr(engine, "engines", [engine]):
            live = each._live
            assert len(live.scratch) == live.learner.scratch_size(live.memory)
            assert live.clock[:2].tolist() == [r, 0]
            assert each._call is None
        saved = as_bytes(model)
        assert saved == self.bytes[r]
        again = from_bytes("a model", saved).model
        rest = np.concatenate([self.scores[i] for i in range(r, len(self.X))] or [np.empty(0)])
        for each in (model, again):
            if r < len(self.X):
                assert each.prequential(self.X[r:], self.y[r:]).tobytes() == rest.tobytes()
            assert as_bytes(each) == self.bytes[len(self.X)]
        return r


@cache
def course(name, n):
    return Course(started(name), X[:n], labels(name)[:n])


# ---- at random moments -----------------------------------------------------------------------


class Cut(BaseException):
    """What the handler of the alarm raises."""


class Alarm:
    """Signals at random moments, which count only while a call is made."""

    def __init__(self, seed):
        self.rng, self.armed = random.Random(seed), False

    def _raise(self, number, frame):
        if self.armed:
            self.armed = False
            raise Cut if number == signal.SIGALRM else KeyboardInterrupt

    def __enter__(self):
        self.before = [signal.signal(s, self._raise) for s in (signal.SIGALRM, signal.SIGINT)]
        return self

    def __exit__(self, *error):
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        for number, before in zip((signal.SIGALRM, signal.SIGINT), self.before, strict=True):
            signal.signal(number, before)

    def cuts(self, work, seconds):
        """Do the work, with a signal after a random part of the time; was it cut?"""
        delay = max(1e-6, self.rng.uniform(0.0, seconds))
        timer = None
        try:
            self.armed = True
            if self.rng.random() < 0.8:
                signal.setitimer(signal.ITIMER_REAL, delay)
            else:
                timer = threading.Timer(delay, os.kill, [os.getpid(), signal.SIGINT])
                timer.start()
            work()
            cut = False
        except (Cut, KeyboardInterrupt):
            cut = True
        self.armed = False
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        if timer is not None:
            timer.join()
        return cut


@cache
def _catalogue(n):
    """Courses of all learners, those that grow or have many events several times."""
    setting = Setting(Gaussian(1.0), budget=10, n_rounds=200)
    learners = [method.make(setting) for method in CATALOGUE]
    found = {}
    for learner in learners:
        y = THREE if isinstance(learner, BPAS) else Y
        start = OnlineKernelClassifier(learner, random_state=0)
        start.partial_fit(X[:FIRST], y[:FIRST], classes=np.unique(y))
        found[f"{type(learner).__name__} of the catalogue"] = Course(start, X[:n], y[:n]), start
    for name in MODELS:
        found[name] = course(name, n), started(name)
    return found


def _seconds(work, model):
    before = time.perf_counter()
    work(model)
    return time.perf_counter() - before


GROWING = ("KOGD", "SKETCHED-KONS", "PROS-N-KONS", "SketchedKONS", "PROSNKONS", "group that grows")


def random_interrupts(n, seed=0, rows=150, patience=120.0):
    """Interrupt calls until n have been cut; a model that is wrong raises, a hang ends the process.

    Returns how often each kind of model was cut, and at how many different rows.
    """
    courses = _catalogue(rows)
    names = [name for name in courses for _ in range(3 if name.startswith(GROWING) else 1)]
    figures, places = collections.Counter(), collections.defaultdict(set)
    times = {}
    with Alarm(seed) as alarm:
        while sum(figures.values()) < n:
            faulthandler.dump_traceback_later(patience, exit=True)
            name = alarm.rng.choice(names)
            expected, start = courses[name]
            model = copy.deepcopy(start)
            chunk = alarm.rng.choice([7, 50, rows])

            def work(model=model, expected=expected, chunk=chunk):
                while (r := model.n_rounds_) < rows:
                    model.partial_fit(expected.X[r : r + chunk], expected.y[r : r + chunk])
                    model.predict(X[:3])
                    as_bytes(model)
                    pickle.dumps(model)

            if name not in times:
                times[name] = min(_seconds(work, copy.deepcopy(start)) for _ in range(2))
            if alarm.cuts(work, times[name]):
                figures[name] += 1
                places[name].add(expected.check(model))
    faulthandler.cancel_dump_traceback_later()
    return figures, {name: len(rows) for name, rows in places.items()}
