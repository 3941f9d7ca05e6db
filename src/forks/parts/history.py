"""What happened to the experts, as lines of numbers in a ring: starts, alarms, another leader."""

import math
from typing import Annotated, Any, NamedTuple

import numpy as np

from forks.engine import Counter, Limit, Matrix, Vector, njit
from forks.parts.landmarks import LandmarkMap

START, CHALLENGE, ALARM, LEAD = range(4)  # kinds of lines
_KINDS = ("start", "challenge", "alarm", "lead")
_ROOM = 64
_FLOOR = 1e-3  # of a relevance, in ratios


class HistoryLine(NamedTuple):
    """Columns of a line."""

    round: int
    kind: int
    place: int  # of the expert
    rows: int  # that a new expert is given; for LEAD the round in which the leader was started
    feature: int  # whose relevance differs most from that of the leader
    ratio: int  # of the two; for LEAD the odds of the new leader against the old one
    moved: int  # feature whose centre has moved most since the leader was started
    shift: int  # by so many standard deviations


LINE = HistoryLine(*range(len(HistoryLine._fields)))


class History(NamedTuple):
    """The last lines."""

    written: Annotated[Counter, 2]  # how many lines so far; place of the leader
    lines: Annotated[Matrix, _ROOM, len(HistoryLine._fields)]


def history_limits(history: History, experts: int) -> list[Limit]:
    """Return the bounds of what may be stored."""
    return [
        Limit("lines of the history", history.written[0], 0, 2**53),
        Limit("leader of the history", history.written[1], 0, experts - 1),
        Limit("kinds of the history", history.lines[:, LINE.kind], START, LEAD),
        Limit("numbers of the history", history.lines, -1e300, 1e300),
    ]


def write_start(
    history: History, round: int, kind: int, place: int, rows: int, news: tuple[float, ...]
) -> None:
    """Write that an expert was started; `news` comes from `differences`."""
    line = history.lines[history.written[0] % _ROOM]
    line[:] = (round, kind, place, rows, *news)
    history.written[0] += 1


def differences(known: LandmarkMap, relevance: Vector, rows: Matrix) -> tuple[float, ...]:
    """Return the last four columns of a line: what is new beside the map of the leader."""
    ratio = np.log((relevance + _FLOOR) / (known.relevance + _FLOOR))
    offset = np.abs(np.median(rows, axis=0) - known.scale.centre)
    with np.errstate(over="ignore", invalid="ignore"):
        shift = offset / (known.scale.width + np.maximum(known.scale.tail, 0.0) * offset)
        shift /= known.scale.bound[0]
    shift = 5.0 * np.nan_to_num(np.minimum(shift, 1.0))
    feature, moved = int(np.argmax(np.abs(ratio))), int(np.argmax(shift))
    return feature, math.exp(ratio[feature]), moved, float(shift[moved])


def events(history: History) -> list[dict[str, Any]]:
    """Return the lines as dicts, oldest first."""
    written = int(history.written[0])
    found = []
    for line in history.lines[np.arange(max(0, written - _ROOM), written) % _ROOM].tolist():
        kind = _KINDS[int(line[LINE.kind])]
        event: dict[str, Any] = {"round": int(line[LINE.round]), "event": kind}
        event["expert"] = int(line[LINE.place])
        if kind == "lead":
            event |= {"started": int(line[LINE.rows]), "odds": line[LINE.ratio]}
        else:
            event |= {
                "rows": int(line[LINE.rows]),
                "relevance": {"feature": int(line[LINE.feature]), "ratio": line[LINE.ratio]},
                "shift": {"feature": int(line[LINE.moved]), "deviations": line[LINE.shift]},
            }
        found.append(event)
    return found


@njit
def follow_leader(history, t, weights, born):
    """Write a line if another expert leads now, by more than half of all weight."""
    leader = history.written[1]
    for e in range(born.shape[0]):
        if weights[e] > 0.5 and e != leader:
            line = history.lines[history.written[0] % history.lines.shape[0]]
            line[:] = 0.0
            line[LINE.round], line[LINE.kind], line[LINE.place] = t, LEAD, e
            line[LINE.rows] = born[e]
            line[LINE.ratio] = weights[e] / max(weights[leader], 1e-12)
            history.written[0] += 1
            history.written[1] = e
