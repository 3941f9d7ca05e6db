"""Experts over time, as `forks.learners.over_time` describes them, of machines.

The numbers that are not parameters are written out here and in the parts (`experts`,
`calibration`, `horizon`, `persistence`, `conformal`, `recall`, `relevance`, `stack`, `watch`).
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from forks.oracles.calibration import CalibrationLine, log_odds
from forks.oracles.conformal import ClassQuantiles, ResidualQuantiles
from forks.oracles.experts import (
    MeanSquare,
    bayes_share,
    class_likelihood,
    entered,
    number_likelihood,
    without,
)
from forks.oracles.horizon import HorizonOracle
from forks.oracles.kernels import Vector
from forks.oracles.machine import MachineOracle
from forks.oracles.persistence import SURE, LastLabels
from forks.oracles.picks import RowsInTurn, doubt
from forks.oracles.recall import RecallOracle
from forks.oracles.relevance import RelevanceSearch
from forks.oracles.rise import SlowRise
from forks.oracles.stack import StackOracle
from forks.oracles.watch import PageWatch

NEXT, SETTLED = 0, 1
SHARES = (0.0005, 2e-5)
RATE = 0.5
PACE = 8  # rows of the past in a round
# Early experts: width, prior, and whether the kernel is Laplacian, in place of a Gaussian one.
EARLY = ((0.5, 1.0, False), (0.6, 1.0, True), (20.0, 4.0, False))
# Rows, rate of forgetting, width, prior, and whether landmarks are picked: what recent experts are
# started with, in turn.
KINDS = (
    (250, 0.005, 0.7, 1.0, False),
    (500, 0.0, 1.0, 1.0, True),
    (1000, 0.001, 0.6, 1.0, True),
    (1000, 0.001, 20.0, 4.0, False),
)
# Challengers, likewise.
CHOICES = ((1.0, 0.25, False), (0.6, 0.25, True), (0.5, 1.0, False), (1.6, 0.25, True))
PAIR = -3  # the weight of the mean of the first two
ENTRY = np.exp(-4.0)


class Expert:
    """A machine in its place."""

    def __init__(self, machine: MachineOracle, born: int, begin: int, entry: float):
        self.machine, self.born, self.entry = machine, born, entry
        self.rows = RowsInTurn(begin)
        self.live = False
        self.line = CalibrationLine(3.0)
        self.answer = np.zeros(machine.n_outputs)


class OverTimeOracle:
    """The experts, one round at a time.

    `make(place, **options)` makes a machine, with the options `relevance`, `width`, `forgetting`,
    `alpha_rounds` and `laplacian` of `MachineOracle`. All rows are kept; `window` of them may be
    looked at.
    """

    def __init__(
        self,
        n_features: int,
        n_outputs: int,
        make: Callable[..., MachineOracle],
        *,
        experts: int = 7,
        window: int = 2000,
        relevance: bool = True,
        restart: bool = True,
        repeat: bool = True,
        may_change_kernel: bool = True,
    ):
        self.d, self.n, self.make, self.experts = n_features, n_outputs, make, experts
        self.window = min(window, max(500, 400_000 // n_features))
        self.relevance, self.restart, self.repeat = relevance, restart, repeat
        self.may_change_kernel = may_change_kernel  # it is a Gaussian one of the usual width
        champion = Expert(make(0), 0, 0, 1.0)
        champion.live = True
        self.classifies = champion.machine.classifies
        self.places: list[Expert | None] = [champion] + [None] * (experts - 1)
        for e, (width, prior, laplacian) in enumerate(EARLY[: experts - 2], 2):
            choices = {"width": width, "alpha_rounds": 128.0 * prior}
            machine = make(e, laplacian=laplacian and may_change_kernel, **choices)
            self.places[e] = early = Expert(machine, 0, 0, 1.0)
            early.live = True
        self.born = [0] * experts  # of what is there, or was there last
        self.doubts: list[float] = []  # of each row, how unsure the answer was
        self.recall = RecallOracle(experts)
        self.rise = SlowRise()
        self.weights = [np.zeros(experts + 3), np.zeros(experts + 3)]
        self.weights[NEXT][[0, -2]] = 1.0, 0.01 if repeat else 0.0
        self.weights[SETTLED][[0, -1]] = 1.0
        for weights in self.weights:
            weights[2 : 2 + len(EARLY[: experts - 2])] = 0.25
            weights /= weights.sum()
        self.line = CalibrationLine(1.0)  # of the answer for the next row
        self.horizon = HorizonOracle(experts + 3, self.classifies)
        self.quantiles: list[Any] = [ResidualQuantiles(), ResidualQuantiles(0.02, 1000)]
        if self.classifies:
            self.quantiles = [ClassQuantiles(), ClassQuantiles(0.004)]
        self.labels, self.variance = LastLabels(n_outputs, self.classifies), MeanSquare()
        self.stacks = [StackOracle(experts + 3) for _ in range(n_outputs)]
        self.watch = PageWatch(gain=2.0, alarm=10.0, most=0.9, highest=0.99)
        self.past: list[tuple[Vector, Vector, float]] = []
        self.heaviest = 0.0
        self.due, self.period = 300, 500
        self.challenge = 1000
        self.events: list[tuple[int, str, int]] = []  # round, kind, place

    # ---- one round

    def play(self, x: Vector, y: Vector, weight: float = 1.0) -> Vector:
        """Return the answer for the next row, and learn from it."""
        there = {e: expert for e, expert in enumerate(self.places) if expert is not None}
        for e, expert in there.items():
            if expert.live:
                if self.horizon.first == len(self.past):
                    expert.machine.kept = expert.machine.w
                asleep = self.recall.sleeps(e, self.weights[NEXT][e])
                expert.answer = expert.machine.play(x, y, 0.0 if asleep else weight)
                if weight != 0.0 and not asleep:
                    self.recall.learned[e].append(len(self.past))
        p = self.predictions(x, {e: expert.answer for e, expert in there.items()})
        answer, _ = self.mixed(p)
        if weight != 0.0:
            self.learn(x, y, weight, p)
            self.catch_up()
            if len(self.past) >= min(self.due, self.challenge) or self.watch.alarmed:
                self.manage()
        return answer

    def score(self, x: Vector) -> Vector:
        """Return the answer for a row whose label will not come."""
        answers = {e: expert.machine.score(x) for e, expert in enumerate(self.places) if expert}
        return self.far(self.weights[SETTLED], answers, self.predictions(x, answers))

    def predictions(self, x: Vector, answers: dict[int, Vector]) -> list[Vector | None]:
        """Return what the experts say, the mean of the first two, the last label, base rates."""
        said: list[Vector | None] = []
        for e, expert in enumerate(self.places):
            if expert is None or not expert.live:
                said.append(None)
            else:
                f = answers[e]
                said.append(expert.line.probabilities(f) if self.classifies else f)
        first, second = said[:2]
        said.append(None if first is None or second is None else 0.5 * (first + second))
        for f in (self.labels.last(x), self.labels.base()):
            if self.classifies:
                f = np.clip(0.5 + 0.5 * f, SURE, 1.0 - SURE)
                f = f / f.sum() if self.n > 1 else f
            said.append(f)
        return said

    def far(self, weights: Vector, said: dict[int, Vector], p: list[Vector | None]) -> Vector:
        """Return the answer for a row whose label will not come."""
        mean = self.horizon.mixed(weights, said, p, self.oldest())
        return 2.0 * mean - 1.0 if self.classifies else mean

    def oldest(self) -> int:
        """Return which of the first two has lived longest."""
        live = [e for e, expert in enumerate(self.places[:2]) if expert is not None and expert.live]
        return min(live, key=lambda e: self.born[e], default=0)

    def mixed(self, p: list[Vector | None]) -> tuple[Vector, Vector]:
        """Return the answer for the next row, and the mixture that it is made of."""
        pairs = zip(self.weights[NEXT], p, strict=True)
        mixture = sum((w * q for w, q in pairs if q is not None and w > 0.0), np.zeros(self.n))
        if self.classifies:
            return 2.0 * self.line.probabilities(log_odds(mixture)) - 1.0, mixture
        f = mixture + self.labels.correction() if self.repeat else mixture
        says = [
            None if q is None or w == 0.0 or e == self.experts else q
            for e, (w, q) in enumerate(zip(self.weights[NEXT], p, strict=True))
        ]  # the mean of the first two is left out
        stacked = [
            stack.answer([None if q is None else float(q[o]) for q in says], float(f[o]))
            for o, stack in enumerate(self.stacks)
        ]
        return np.array(stacked), mixture

    def learn(self, x: Vector, y: Vector, weight: float, p: list[Vector | None]) -> None:
        """Learn whom to believe."""
        self.heaviest = max(self.heaviest, weight)
        power = weight / self.heaviest
        answer, mixture = self.mixed(p)
        says = {e: expert.machine.earlier for e, expert in enumerate(self.places) if expert}
        earlier = self.predictions(x, says)
        far = self.far(self.horizon.weights, says, earlier)
        for quantiles, said in zip(self.quantiles, (answer, far), strict=True):
            if self.classifies:
                quantiles.observe(class_likelihood(0.5 + 0.5 * said, y))
            elif self.n == 1:
                quantiles.observe(y[0] - said[0])
        three = self.horizon.answers(self.horizon.weights, says, earlier, self.oldest())
        likelihoods = np.array([self.likelihood(q, y) for q in three])
        self.horizon.learn(likelihoods, y, len(self.past), power)
        if self.classifies:
            self.line.learn(log_odds(mixture), y, power)
        else:
            for o, stack in enumerate(self.stacks):
                stack.learn(float(y[o]), power)
        error = float(np.sum((mixture - y) ** 2))
        if self.restart:
            self.watch.observe(self.is_wrong(answer, y, error))
        likelihoods = np.array([0.0 if q is None else self.likelihood(q, y) for q in p])
        for question in (NEXT, SETTLED):
            self.weights[question] = bayes_share(
                self.weights[question], likelihoods, SHARES[question], RATE * power
            )
        self.recall.follow(self.weights[NEXT][:PAIR])
        for expert in self.places:
            if self.classifies and expert is not None and expert.live:
                expert.line.learn(expert.answer, y, power)
        if not self.classifies:
            self.variance.observe(error)
        self.labels.observe(x, y, mixture)
        self.past.append((x, y, weight))
        if self.classifies:
            self.doubts.append(doubt(0.5 + 0.5 * answer))
        self.horizon.end_of_round(self.weights[SETTLED], len(self.past))
        if (len(self.past) - 1) % 64 == 0:
            self.dismiss()

    def likelihood(self, q: Vector, y: Vector) -> float:
        if self.classifies:
            return class_likelihood(q, y)
        return number_likelihood(q, y, self.variance.value)

    def is_wrong(self, answer: Vector, y: Vector, error: float) -> bool:
        if not self.classifies:
            return error > self.variance.value
        if self.n == 1:
            return bool((answer[0] >= 0.0) != (y[0] > 0.0))
        return bool(y[np.argmax(answer)] < 0.0)

    def dismiss(self) -> None:
        """Empty the places of useless experts, but for the best one for either question."""
        t = len(self.past) - 1
        leading = (*self.weights, self.horizon.weights)
        stay = {int(np.argmax(weights[:PAIR])) for weights in leading}
        for e, expert in enumerate(self.places):
            voices = [e, PAIR] if e < 2 else [e]
            useless = max(weights[voices].max() for weights in self.weights) < 0.003
            old = expert is not None and expert.live and t - expert.born > 1000
            if e < 2:  # of those that live long the older one stays
                other = self.places[1 - e]
                old = old and other is not None and other.live and self.born[e] > other.born
            if old and useless and e not in stay and not self.recall.stays(e, t):
                self.places[e] = None
                self.recall.leave(e)
                for voice in voices:
                    self.weights = [without(weights, voice) for weights in self.weights]
                    self.horizon.leave(voice, t + 1)

    def catch_up(self) -> None:
        """Let new experts learn rows of the past, in turns of 8.

        An event of one begins all turns anew, its own with the row of the event.
        """
        begun = [0] * self.experts  # rows that the next turn begins with
        oldest = len(self.past) - self.window
        e = 0
        while e < self.experts:
            expert, rows, begun[e] = self.places[e], PACE - begun[e], 0
            cut = False
            while expert is not None and not expert.live and not cut:
                t = expert.rows.first(oldest)
                if rows == 0 or t >= len(self.past):
                    break
                events = expert.machine.events
                expert.machine.play(*self.past[t])
                expert.rows.learned(t)
                rows -= 1
                cut = expert.machine.events > events
            if cut:
                begun[e], e = 1, 0
                continue
            if expert and not expert.live and expert.rows.first(oldest) >= len(self.past):
                self.let_in(e, expert)
            e += 1

    def let_in(self, e: int, expert: Expert) -> None:
        """Give an expert a say; those that forget have none for rows without labels."""
        expert.live = True
        self.weights[NEXT] = entered(self.weights[NEXT], e, expert.entry)
        if expert.machine.forgetting == 0.0:
            self.weights[SETTLED] = entered(self.weights[SETTLED], e, expert.entry)
        other = self.places[1 - e] if e < 2 else None
        if other is not None and other.live:
            self.weights = [entered(weights, PAIR, 1.0) for weights in self.weights]

    # ---- starts

    def manage(self) -> None:
        """Start what is due: after an alarm, a challenger, or a recent expert."""
        rounds = len(self.past)
        if self.watch.alarmed:
            n = self.watch.rounds_since_change(16, 1000)
            entry = ENTRY if self.has_returned() else 1.0
            self.start(self.place(), "alarm", n, 0.0, searched=0, entry=entry)
            self.watch.rate = 0.0
            self.watch.begin_mean()
            self.watch.rest()
            self.period, self.due = 250, rounds + 250
        elif rounds >= self.challenge:
            challenges = sum(kind == "challenge" for _, kind, _ in self.events)
            width, prior, laplacian = CHOICES[challenges % len(CHOICES)]
            laplacian = laplacian and self.may_change_kernel
            place, window = self.loser(), self.window
            self.start(
                place,
                "challenge",
                window,
                0.0,
                searched=1000,
                picks=True,
                width=width,
                alpha_rounds=128.0 * prior,
                laplacian=laplacian,
            )
            self.challenge = 3 * rounds
        else:
            is_extra = not self.events and rounds < 750
            if rounds > 750:
                self.adapt_period(rounds)
            rows, forgetting, width, prior, picks = KINDS[len(self.events) % 4]
            self.start(
                self.place(),
                "start",
                rows,
                forgetting,
                picks=picks,
                width=width,
                alpha_rounds=128.0 * prior,
                far=width > 1.0 and not self.classifies,
            )
            self.due = 750 if is_extra else rounds + self.period

    def has_returned(self) -> bool:
        """Let the expert that led until now sleep; return whether one that did leads now."""
        usual, leader = int(np.argmax(self.recall.usual)), int(np.argmax(self.weights[NEXT][:PAIR]))
        expert = self.places[usual]
        if usual >= 2 and expert is not None and expert.live and usual not in self.recall.chosen:
            self.recall.choose(usual)
            expert.machine.forget_no_more()
        return leader in self.recall.chosen and leader != usual

    def loser(self) -> int:
        """Which long expert makes room: the younger, unless it is ten times as likely."""
        old, young = (0, 1) if self.born[0] <= self.born[1] else (1, 0)
        weights = self.weights[SETTLED]
        return old if weights[young] > 10.0 * weights[old] else young

    def adapt_period(self, rounds: int) -> None:
        """Start more often if a recent expert is worth something or mistakes rise, else less."""
        recent = [
            self.weights[NEXT][e]
            for e, expert in enumerate(self.places)
            if e >= 2 and expert and expert.live and expert.born > rounds - 4 * self.period
        ]
        risen = self.rise.look(self.watch.rate, rounds)
        if risen or (recent and max(recent) > 0.05):
            self.period = max(250, self.period // 2)
        elif self.events:  # something was started, and is gone or has no say
            self.period = min(4000, 2 * self.period)

    def place(self) -> int:
        """The first empty place, or that of the lightest expert, those of 500 rounds last.

        The heaviest one for rows without labels stays, now and when the period began; and those
        whose concept may return.
        """
        ranks = []
        settled = int(np.argmax(self.weights[SETTLED][:PAIR]))
        far = int(np.argmax(self.horizon.weights[:PAIR]))
        for e, expert in enumerate(self.places):
            young = expert is not None and expert.born > len(self.past) - 500
            stays = self.recall.stays(e, len(self.past))
            kept = 2.0 * (e == settled) + 2.0 * (e == far) + 2.0 * stays + young
            ranks.append(-1.0 if expert is None else self.weights[NEXT][e] + kept)
        return 2 + int(np.argmin(ranks[2:]))

    def start(
        self,
        e: int,
        kind: str,
        rows: int,
        forgetting: float,
        *,
        searched: int = 500,
        entry: float = ENTRY,
        picks: bool = False,
        **choices: Any,
    ) -> None:
        """Start an expert in place e, which begins to catch up."""
        rounds = len(self.past)
        self.events.append((rounds, kind, e))
        relevance = np.ones(self.d)
        n = min(searched, rounds, self.window)
        if self.relevance and n > 0:
            relevance = self.found_relevance(n)
        machine = self.make(e, relevance=relevance, forgetting=forgetting, **choices)
        if min(rows, rounds) >= machine.buffer:
            machine.early, machine.due = False, machine.buffer
        begin = max(0, rounds - min(rows, self.window - 1))
        expert = Expert(machine, rounds, begin, entry)
        self.places[e], self.born[e] = None, rounds
        if picks and self.classifies and not self.anybody_picks():
            expert.rows.pick(self.doubts, machine.buffer)
        self.places[e] = expert
        if e < 2:
            for weights in self.weights:
                weights[1 - e] += weights[PAIR]
                weights[PAIR] = 0.0
            self.horizon.leave(PAIR, rounds)
        self.weights = [without(weights, e) for weights in self.weights]
        self.horizon.leave(e, rounds)
        self.recall.begin(e, rounds)
        for stack in self.stacks:
            stack.begin(e)

    def anybody_picks(self) -> bool:
        """Return whether an expert that has picked rows is still catching up."""
        return any(expert and expert.rows.picked and not expert.live for expert in self.places)

    def found_relevance(self, n: int) -> Vector:
        """Search with the last n rows, up to 64 of them as landmarks."""
        X, y, weights = (np.array(part) for part in zip(*self.past[-n:], strict=True))
        leader = self.places[int(np.argmax(self.weights[NEXT][:PAIR]))]
        known = None if leader is None else leader.machine.relevance
        candidates = [known] if known is not None and np.ptp(known) > 0.0 else []
        return RelevanceSearch(X, y, weights, min(64, n // 2), self.classifies).search(candidates)
