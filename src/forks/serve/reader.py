"""Predictions: the requests that wait in one turn of the event loop are answered together.

To encode and score a hundred rows takes little longer than one row, so that a busy service
answers many small requests for the price of a few.
"""

import asyncio

from forks.serve.keeper import Keeper
from forks.serve.table_model import Answers
from forks.serve.tables import Batch

_INLINE = 256  # rows that are predicted without another thread


class Reader:
    """Predicts with a model that is being changed by its worker."""

    def __init__(self, keeper: Keeper) -> None:
        self._keeper = keeper
        self._waiting: list[tuple[Batch, asyncio.Future[Answers]]] = []

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
        waiting, self._waiting = self._waiting, []
        groups: dict[tuple[str, ...], list[tuple[Batch, asyncio.Future[Answers]]]] = {}
        for item in waiting:
            groups.setdefault(tuple(item[0].columns), []).append(item)
        for group in groups.values():
            if len(group) == 1 or not self._answer_group(group):
                for batch, future in group:
                    self._answer_one(batch, future)

    def _answer_group(self, group: list[tuple[Batch, asyncio.Future[Answers]]]) -> bool:
        try:
            answers = self._answer(Batch.concatenated([batch for batch, _ in group]))
        except ValueError:  # of one of them: each by itself
            return False
        start = 0
        for batch, future in group:
            stop = start + len(batch)
            if not future.done():
                future.set_result(answers.part(start, stop))
            start = stop
        return True

    def _answer_one(self, batch: Batch, future: asyncio.Future[Answers]) -> None:
        if future.done():
            return
        try:
            future.set_result(self._answer(batch))
        except Exception as error:  # whoever waits gets it
            future.set_exception(error)
