"""One round of experts over time, compiled: see `forks.learners.over_time`.

A round is played in stages, each of which an event may cut: the experts one after the other, the
mixture, those that catch up, and starts that are due.
"""

from typing import Annotated, Any, NamedTuple

from forks.engine import (
    EVENT,
    MENDS,
    RESUME,
    Counter,
    Matrix,
    Vector,
    apart,
    attach,
    entry,
    njit,
    score,
    step,
    workspace,
)
from forks.parts import experts as weighing
from forks.parts import persistence as lasting
from forks.parts import ring as rings
from forks.parts import watch as watching
from forks.parts.calibration import Calibration, calibrate, write_calibrated, write_log_odds
from forks.parts.conformal import Conformal, ConformalRule, observe_class, observe_residual
from forks.parts.expansion import finite_or_zero, is_wrong
from forks.parts.experts import BASE, LAST, NEXT, PAIR, SETTLED, Experts, ExpertsRule
from forks.parts.history import History, follow_leader
from forks.parts.horizon import (
    Horizon,
    HorizonRule,
    HorizonWork,
    begins,
    keep,
    learn_far,
    leave_horizon,
    mix_far,
    next_period,
    write_earlier,
)
from forks.parts.persistence import Persistence, PersistenceRule
from forks.parts.picks import Picks, next_row, note_doubt
from forks.parts.recall import Recall, RecallRule, follow_weights, is_asleep, is_kept, learned
from forks.parts.rise import Rise
from forks.parts.stack import NoStack, Stack, StackRule, StackWork, learn_stack, stacked
from forks.parts.watch import PageRule

EXPERT, MANAGE = 1, 2  # events: one of an expert, and a start that is due
EMPTY, CATCHING_UP, LIVE = range(3)  # what `status` holds
LONG = 2  # places for the champion and the challenger, the first ones


class OverTimeCount(NamedTuple):
    """Indices into `counts`."""

    event: int
    mends: int
    rounds: int
    stage: int  # of a round that an event has cut: see `_step`
    due: int  # rounds at which the next start is due
    period: int
    challenge: int  # rounds at which the next challenger is due
    starts: int
    challenges: int
    begun: int  # rounds when the mean of the watch was begun
    delay: int  # rows by which labels come late


COUNT = OverTimeCount(*range(len(OverTimeCount._fields)))


class Places(NamedTuple):
    """The experts: what each place holds, and where its memory lies."""

    status: Annotated[Counter, "experts"]
    born: Annotated[Counter, "experts"]  # the round
    next: Annotated[Counter, "experts"]  # row to be caught up with
    mends: Annotated[Counter, "experts"]
    tracks: Annotated[Counter, "experts"]  # does it forget?
    floats: Annotated[Counter, "experts + 1"]  # where memories begin and end
    ints: Annotated[Counter, "experts + 1"]
    entry: Annotated[Vector, "experts"]  # weight to begin with, relative to the largest


class Memories(NamedTuple):
    """The memories of the experts, one after the other."""

    floats: Annotated[Vector, "floats"]
    ints: Annotated[Counter, "ints"]


class OverTimeState(NamedTuple):
    """State that learning changes in place."""

    counts: Annotated[Counter, len(OverTimeCount._fields)]
    places: Places
    recall: Recall
    rise: Rise
    experts: Annotated[Experts, "experts = experts + 3"]
    horizon: Annotated[Horizon, "experts = experts + 3"]
    calibration: Annotated[Calibration, "scorers = 1"]  # of the mixture for the next row
    conformal: Annotated[Conformal, "kinds = 2"]  # for both questions
    stack: Annotated[Stack, "experts = experts + 3"]  # for the next row, in regression
    persistence: Annotated[Persistence, "size = window"]
    watch: Annotated[watching.Watch, "size = 1000"]
    ring: Annotated[rings.Ring, "size = window"]
    picks: Annotated[Picks, "size = window"]
    history: History
    random: Annotated[Counter, 1]
    blank: Annotated[Matrix, 0, "scratch"]  # has the length of the scratch of an expert
    memories: Memories


class OverTimeRule(NamedTuple):
    """Constants for compiled code."""

    learner: Any  # the rule of the experts
    experts: ExpertsRule
    persistence: PersistenceRule
    conformal: ConformalRule
    conformal_far: ConformalRule  # whose quantiles do not follow the last rows
    stack: StackRule | NoStack
    page: PageRule
    horizon: HorizonRule
    recall: RecallRule
    restart: bool
    repeat: bool
    pace: int = 8
    look: int = 64  # rounds from one look for useless experts to the next
    chance: int = 1000  # rounds that an expert has to become useful
    useless: float = 0.003
    ahead: bool = False  # does `score` answer what comes next?


class OverTimeWork(NamedTuple):
    """Scratch."""

    answers: Annotated[Matrix, "experts + 3", "outputs"]
    p: Annotated[Matrix, "experts + 3", "outputs"]  # what answers stand for
    earlier: Annotated[Matrix, "experts + 3", "outputs"]  # and those of what was kept
    far: HorizonWork
    mixed: Annotated[Vector, "outputs"]  # what the mixture says
    f: Annotated[Vector, "outputs"]  # that as scores to be calibrated
    q: Annotated[Vector, "outputs"]  # calibrated
    expert: Annotated[Vector, "scratch"]
    stack: Annotated[StackWork, "experts = experts + 3"]


@score.register(OverTimeRule)
def _score(rule, state, work, x, out):
    places, memories = state.places, state.memories
    n = places.status.shape[0]
    question = NEXT if rule.ahead else SETTLED
    weights = state.experts.weights[question]
    for e in range(n):
        if weights[e] > 0.0:
            floats = memories.floats[places.floats[e] : places.floats[e + 1]]
            ints = memories.ints[places.ints[e] : places.ints[e + 1]]
            expert = attach(rule.learner, floats, ints)
            scratch = workspace(rule.learner, expert, work.expert)
            score(rule.learner, expert, scratch, x, work.answers[e])
    known = state.counts[COUNT.rounds] - 1
    lasting.write_last(
        rule.persistence, state.persistence, state.ring, known, x, work.answers[LAST]
    )
    lasting.write_base(rule.persistence, state.persistence, work.answers[BASE])
    weighing.write_predictions(rule.experts, state.experts, work.answers, work.p)
    parts = places, state.horizon, state.calibration, state.persistence, state.stack
    _answer(rule, parts, work, weights, work.answers, work.p, question, known, out)


@njit
def _answer(rule, parts, work, weights, said, p, question, known, out):
    """Write an answer: 2 p - 1 with calibrated probabilities, or a number.

    A number for the next row leans on the residual of row `known`, and is stacked. `parts` are
    those of the state that are needed: handing on all of it takes tenths of a second to compile.
    """
    places, horizon, calibration, persistence, stack = parts
    if question == SETTLED:
        oldest = _oldest(places)
        mix_far(rule.horizon, horizon, weights, said, p, oldest, work.far, work.mixed)
        for o in range(out.shape[0]):
            work.q[o] = work.mixed[o]
    else:
        weighing.mix(rule.experts, weights, p, work.mixed)
        if rule.experts.classifies:
            write_log_odds(work.mixed, work.f)
            line = calibration.lines[0]
            write_calibrated(rule.experts.calibration, line, work.f, work.q)
    for o in range(out.shape[0]):
        if rule.experts.classifies:
            out[o] = 2.0 * work.q[o] - 1.0
            continue
        f = work.mixed[o]
        if question == NEXT:
            more = lasting.correction(persistence, known, o) if rule.repeat else 0.0
            f = stacked(rule.stack, stack, work.stack, o, p, weights, f + more)
        out[o] = finite_or_zero(f)


@njit
def _oldest(places):
    """Return which expert has lived longest, of those that live long."""
    oldest = 0
    for e in range(1, LONG):
        older = places.status[oldest] != LIVE or places.born[e] < places.born[oldest]
        oldest = e if places.status[e] == LIVE and older else oldest
    return oldest


@step.register(OverTimeRule)
def _step(rule, state, work, x, y, weight, out):
    counts, places = state.counts, state.places
    counts[EVENT] = 0
    n, keeps = places.status.shape[0], begins(state.horizon, counts[COUNT.rounds])
    for e in range(counts[COUNT.stage], n):
        counts[COUNT.stage] = e
        if places.status[e] != LIVE:
            continue
        answers = state.experts.answers[e], state.horizon.earlier[e], keeps
        asleep = is_asleep(rule.recall, state.recall, e, state.experts.weights[NEXT, e])
        counts_as = 0.0 if asleep else weight
        if not _play(
            rule.learner, counts, places, state.memories, work.expert, e, x, y, counts_as, answers
        ):
            return
        if counts_as != 0.0:
            learned(state.recall, e, counts[COUNT.rounds])
    if counts[COUNT.stage] < n + 1:
        _mix_and_weigh(rule, state, work, x, y, weight, out)
        counts[COUNT.stage] = n + 1
    if counts[COUNT.stage] == n + 1:
        parts = counts, places, state.experts, state.ring, state.picks, state.memories
        if weight != 0.0 and not _catch_up(rule, parts, work.mixed, work.f, work.expert):
            return
        counts[COUNT.stage] = n + 2
        t = counts[COUNT.rounds]
        due = t >= counts[COUNT.due] or t >= counts[COUNT.challenge]
        if weight != 0.0 and (due or watching.alarmed(rule.page, state.watch)):
            counts[EVENT] = MANAGE
            return
    counts[COUNT.stage] = 0


@njit
def _play(rule, counts, places, memories, scratch, e, x, y, weight, answers):
    """Let expert e play a round; return False if it has raised an event.

    `answers` are to be those of now, and those of what was kept (`parts.horizon`); whether its
    weights are to be kept comes after them.
    """
    floats = memories.floats[places.floats[e] : places.floats[e + 1]]
    ints = memories.ints[places.ints[e] : places.ints[e + 1]]
    event, mends = _play_expert(rule, floats, ints, scratch, x, y, weight, *answers)
    if mends != places.mends[e]:
        counts[MENDS] += max(0, mends - places.mends[e])  # whatever a file has claimed
        places.mends[e] = mends
    if event > 0:
        counts[EVENT] = EXPERT
        return False
    return True


@apart
def _play_expert(rule, floats, ints, scratch, x, y, weight, out, earlier, keeps):
    """Play a round of one expert; return its event and its mends."""
    expert = attach(rule, floats, ints)
    work = workspace(rule, expert, scratch)
    goes_on = expert.counts[EVENT] == RESUME
    if keeps and not goes_on:
        keep(rule, expert)
    step(rule, expert, work, x, y, weight, out)
    if not goes_on:
        for o in range(out.shape[0]):
            earlier[o] = out[o]
        write_earlier(rule, expert, work, earlier)
    return expert.counts[EVENT], expert.counts[MENDS]


@njit
def _mix_and_weigh(rule, state, work, x, y, weight, out):
    """Answer for the next row, then learn which expert to believe."""
    counts, experts, horizon = state.counts, state.experts, state.horizon
    t = counts[COUNT.rounds]
    known = t - 1 - counts[COUNT.delay]
    answers = experts.answers
    parts = state.places, horizon, state.calibration, state.persistence, state.stack
    lasting.write_last(rule.persistence, state.persistence, state.ring, known, x, answers[LAST])
    lasting.write_base(rule.persistence, state.persistence, answers[BASE])
    for o in range(out.shape[0]):
        horizon.earlier[BASE, o] = answers[BASE, o]
    for question in range(1, -1, -1):  # that of the next row last, whose answer is given
        weights, said, p = experts.weights[NEXT], answers, work.p
        if question == SETTLED:
            weights, said, p = horizon.weights, horizon.earlier, work.earlier
        weighing.write_predictions(rule.experts, experts, said, p)
        _answer(rule, parts, work, weights, said, p, question, known, out)
        if weight != 0.0:
            counts_as = weight / max(weight, experts.levels[weighing.HEAVIEST])
            _judge(rule, state.conformal, work, question, y, out)
    if weight != 0.0:
        error = 0.0
        if rule.experts.classifies:
            line = state.calibration.lines[0]
            calibrate(rule.experts.calibration, line, work.f, work.q, y, counts_as)
        else:
            for o in range(out.shape[0]):
                error += (work.mixed[o] - y[o]) ** 2
                learn_stack(rule.stack, state.stack, work.stack, o, y[o], counts_as)
        if rule.restart:
            usual = experts.levels[weighing.VARIANCE]
            wrong = error > usual if not rule.experts.classifies else is_wrong(out, y)
            watching.observe(rule.page, state.watch, t, t + 1 - counts[COUNT.begun], wrong)
        far = work.far
        for g in range(3):
            far.likelihoods[g] = weighing.likelihood_of(rule.experts, experts, far.answers, g, y)
        learn_far(rule.horizon, horizon, far, t, y, counts_as)
        weighing.weigh(rule.experts, experts, work.p, y, weight, error)
        follow_weights(rule.recall, state.recall, experts.weights[NEXT])
        lasting.observe(rule.persistence, state.persistence, state.ring, t, known, x, y, work.mixed)
        rings.remember(state.ring, t, x, y, weight)
        if rule.experts.classifies:
            note_doubt(state.picks, t, work.q)
        counts[COUNT.rounds] = t + 1
        next_period(rule.horizon, horizon, experts.weights[SETTLED], t + 1)
        if t % rule.look == 0:
            _dismiss(rule, state.places, state.recall, experts, horizon, t)
            follow_leader(state.history, t + 1, experts.weights[NEXT], state.places.born)


@njit
def _dismiss(rule, places, recall, experts, horizon, t):
    """Empty the places of experts that have had their chance, and have next to no weight.

    The best learner for either question stays, also where the last label is better than all; those
    whose concept may return; and the older of those that live long: what it has learned cannot be
    had again.
    """
    weights = experts.weights
    n, best, settled, kept = places.status.shape[0], 0, 0, 0
    for e in range(1, n):
        best = e if weights[NEXT, e] > weights[NEXT, best] else best
        settled = e if weights[SETTLED, e] > weights[SETTLED, settled] else settled
        kept = e if horizon.weights[e] > horizon.weights[kept] else kept
    for e in range(n):
        old = places.status[e] == LIVE and t - places.born[e] > rule.chance
        old = old and not is_kept(rule.recall, recall, e, t)
        worth = max(weights[NEXT, e], weights[SETTLED, e])
        if e < LONG:
            worth = max(worth, weights[NEXT, PAIR], weights[SETTLED, PAIR])
            other = LONG - 1 - e
            old = old and places.status[other] == LIVE and places.born[e] > places.born[other]
        if old and worth < rule.useless and e not in (best, settled, kept):
            places.status[e] = EMPTY
            recall.chosen[e] = 0
            weighing.leave(experts, e)
            leave_horizon(horizon, e, t + 1)
            if e < LONG:
                weighing.leave(experts, PAIR)
                leave_horizon(horizon, PAIR, t + 1)


@njit
def _judge(rule, conformal, work, question, y, out):
    """Learn from an answer how wide intervals are to be, or sets."""
    n = y.shape[0]
    tracker = rule.conformal if question == NEXT else rule.conformal_far
    if not rule.experts.classifies:
        if n == 1:
            observe_residual(tracker, conformal, question, y[0] - out[0])
        return
    p = 0.0
    for o in range(n):
        if n == 1:
            p = work.q[0] if y[0] > 0.0 else 1.0 - work.q[0]
        elif y[o] > 0.0:
            p = work.q[o]
    observe_class(tracker, conformal, question, p)


@entry
def catch_up(rule, floats, ints, scratch):
    """Let all experts that are behind learn the rows of the past, as many as are kept, at once.

    Returns False if one has raised an event; called again when it is done, the others go on.
    """
    state = attach(rule, floats, ints)
    work = workspace(rule, state, scratch)
    state.counts[EVENT] = 0
    parts = state.counts, state.places, state.experts, state.ring, state.picks, state.memories
    return _catch_up(rule, parts, work.mixed, work.f, work.expert)


@njit
def _catch_up(rule, parts, answer, earlier, scratch):
    """Let experts learn rows of the past; return False if one has raised an event."""
    counts, places, experts, ring, picks, memories = parts
    rounds, size = counts[COUNT.rounds], ring.rows.shape[0]
    for e in range(places.status.shape[0]):
        if places.status[e] == CATCHING_UP:
            for _ in range(rule.pace):
                places.next[e] = next_row(picks, e, places.next[e], rounds)
                if places.next[e] >= rounds:
                    break
                slot = places.next[e] % size
                x, y, weight = ring.rows[slot], ring.targets[slot], ring.weights[slot]
                answers = answer, earlier, rounds < 0  # these keep nothing
                played = rule.learner, counts, places, memories, scratch, e
                if not _play(*played, x, y, weight, answers):
                    return False
                places.next[e] += 1
            if places.next[e] >= rounds:
                places.status[e] = LIVE
                settled = places.tracks[e] == 0
                weighing.enter(experts, e, places.entry[e], settled)
                if e < LONG and places.status[LONG - 1 - e] == LIVE:
                    weighing.enter(experts, PAIR, 1.0, settled)
    return True
