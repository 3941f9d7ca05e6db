"""Predictions: the requests that wait in one turn of the event loop are answered together.

To encode and score a hundred rows takes little longer than one row, so that a busy service
answers many small requests for the price of a few.
"""

import asyncio

from forks.serve.keeper import Keeper
from forks.serve.table_model import Answers
from forks.serve.tables import Batch

_INLINE = 256  # rows that are predicted without another thread
_Waiting = tuple[Batch, asyncio.Future[Answers]]


class Reader:
    """Predicts with a model that is being changed by its worker."""

    def __init__(self, keeper: Keeper) -> None:
        self._keeper = keeper
        self._waiting: list[_Waiting] = []

    async def predict(self, batch: Batch) -> Answers:
        """Predict rows, together with those of others."""
        if len(batch) > _INLINE:
            return await asyncio.to_thread(self._answer, batch)
        loop = asyncio.get_running_loop()
        future: asyncio.Future[Answers] = loop.create_future()
        self._waiting.append((batch, future))
        if len(self._waiting) == 1:
            loop.call_soon(self._answer_all)
        return await future

    def _answer(self, batch: Batch) -> Answers:
        with self._keeper.turns.reading():
            return self._keeper.model.answer(batch)

    def _answer_all(self) -> None:
        waiting, self._waiting = [item for item in self._waiting if not item[1].done()], []
        groups: dict[tuple[str, ...], list[_Waiting]] = {}
        for item in waiting:
            groups.setdefault(tuple(item[0].columns), []).append(item)
        for group in groups.values():
            self._answer_group(group)

    def _answer_group(self, group: list[_Waiting]) -> None:
        batches = [batch for batch, _ in group]
        try:
            answers = self._answer(batches[0] if len(group) == 1 else Batch.concatenated(batches))
        except Exception as error:
            if len(group) == 1:  # whoever waits gets it
                group[0][1].set_exception(error)
            else:  # of one of them: each by itself
                for item in group:
                    self._answer_group([item])
            return
        start = 0
        for batch, future in group:
            stop = start + len(batch)
            future.set_result(answers.part(start, stop))
            start = stop
