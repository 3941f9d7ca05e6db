"""Words that stand for missing values."""

from collections.abc import Iterable, Sequence

import numpy as np

from forks.engine import Vector
from forks.features.table import MISSING_WORDS
from forks.streams.files import as_number

_SPELLINGS = (str.lower, str.upper, str.capitalize)
_MORE = ("NaN", "NaT")


class Words:
    """What means a missing value: empty cells, words that were told, and the `usual` ones.

    Those are `forks.features.table.MISSING_WORDS`, in any case; others are as they are spelled.
    """

    def __init__(self, told: Sequence[str] = (), usual: bool = True) -> None:
        self.told = frozenset(word.strip() for word in told)
        self.usual = frozenset(MISSING_WORDS if usual else ("",))
        spelled = dict.fromkeys(spell(word) for word in MISSING_WORDS for spell in _SPELLINGS)
        known = [*self.told, *(spelled if usual else ()), *(_MORE if usual else ())]
        raw = [word.encode() for word in known if word]
        self.data = np.frombuffer(b"".join(raw) or b" ", np.uint8)  # for compiled code
        self.stops = np.cumsum([len(word) for word in raw], dtype=np.int64)
        numbers = [as_number(word) for word in self.told]
        self.numbers = np.array([value for value in numbers if value == value])  # such as -999

    def __contains__(self, text: str) -> bool:
        return text in self.told or text.lower() in self.usual

    def among(self, values: Vector) -> np.ndarray:
        """Return which numbers stand for missing values."""
        return np.isin(values, self.numbers) if len(self.numbers) else np.zeros(len(values), bool)

    def but(self, more: Iterable[str]) -> "Words":
        """Return these words and some more."""
        return Words([*self.told, *more], usual=len(self.usual) > 1)


NO_WORDS = Words(usual=False)
