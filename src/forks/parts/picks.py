"""Which rows become landmarks: those that are hardest to tell apart.

The solution of a machine with a hinge is an expansion in the rows near the border between classes,
its support vectors (the representer theorem); rows far from it add next to nothing. So an expert
that is started on more rows than it has landmarks learns first those that the mixture was least
sure of when they came, as many as become landmarks, and then the others, all in their order. Each
row is learned once, so that the solution is that of all of them: which come first decides about the
landmarks only.

How sure it was is the largest probability of a class, and not that of the label: labels may be
wrong, or of a concept that is over.
"""

from typing import Annotated, NamedTuple

import numpy as np

from forks.engine import Counter, Limit, Vector, njit

OWNER, FIRST, BEGIN, END = range(4)  # what `turn` holds


class Picks(NamedTuple):
    """How sure the mixture was of the rows that are kept, and which an expert learns first."""

    doubts: Annotated[Vector, "size"]  # 1 less the largest probability of a class
    marks: Annotated[Counter, "size"]  # is the row to be learned first?
    turn: Annotated[Counter, 4]  # number of the expert, from 1; is it at these rows? begin and end


def picks_limits(picks: Picks, experts: int, rounds: int) -> list[Limit]:
    """Return the bounds of what may be stored."""
    return [
        Limit("doubts of rows", picks.doubts, 0.0, 1.0),
        Limit("marks of rows", picks.marks, 0, 1),
        Limit("expert that picks rows", picks.turn[OWNER], 0, experts),
        Limit("turn of marked rows", picks.turn[FIRST], 0, 1),
        Limit("rows to pick from", picks.turn[BEGIN:], 0, rounds),
    ]


def pick(picks: Picks, e: int, begin: int, rounds: int, n: int) -> None:
    """Let expert e, which learns the rows from `begin` on, learn the n most doubtful ones first."""
    slots = np.arange(begin, rounds) % len(picks.doubts)
    most = np.argsort(-picks.doubts[slots], kind="stable")[:n]
    picks.marks[:] = 0
    picks.marks[slots[most]] = 1
    picks.turn[:] = e + 1, 1, begin, rounds


def leave_picks(picks: Picks, e: int) -> None:
    """Forget the marks if they are those of expert e."""
    if picks.turn[OWNER] == e + 1:
        picks.marks[:] = 0
        picks.turn[:] = 0


@njit
def note_doubt(picks, t, q):
    """Note what the mixture said of row t of the stream, which takes the slot of an older one."""
    sure = 1.0 - q[0] if q.shape[0] == 1 else 0.0
    for o in range(q.shape[0]):
        sure = max(sure, q[o])
    slot = t % picks.doubts.shape[0]
    picks.doubts[slot] = 1.0 - sure
    picks.marks[slot] = 0


@njit
def next_row(picks, e, t, rounds):
    """Return the first row from t on that expert e is to learn now; `rounds` if there is none."""
    turn, size = picks.turn, picks.marks.shape[0]
    if turn[OWNER] != e + 1:
        return t
    if turn[FIRST] == 1:
        while t < turn[END]:
            if picks.marks[t % size] == 1:
                return t
            t += 1
        turn[FIRST] = 0
        t = max(turn[BEGIN], rounds - size)
    while t < turn[END] and picks.marks[t % size] == 1:
        t += 1
    return t
