"""The server: uvicorn, in this process, until a signal ends it."""

import sys
from collections.abc import Callable
from typing import Any

import uvicorn

from forks.serve.app import application
from forks.serve.context import Context

_PATIENCE = 20  # seconds for requests to end after SIGTERM
_SWITCH = 5e-4  # seconds after which a thread of Python lets another go on


class _Server(uvicorn.Server):
    """Says where it listens once it does."""

    def __init__(
        self, config: uvicorn.Config, context: Context, say: Callable[[str], None]
    ) -> None:
        super().__init__(config)
        self._context, self._say = context, say

    async def startup(self, sockets: Any = None) -> None:
        await super().startup(sockets)
        if self.started:
            for server in self.servers:
                for socket in server.sockets:
                    host, port = socket.getsockname()[:2]
                    self._say(f"forks serves on http://{host}:{port}")

    async def shutdown(self, sockets: Any = None) -> None:
        self._context.ending = True  # pages that are open must not hold it up
        await super().shutdown(sockets)


def run(context: Context, host: str, port: int, say: Callable[[str], None]) -> None:
    """Serve until SIGTERM or Ctrl-C; then do what has come, and write checkpoints.

    The event loop and the workers wait for each other after every write and every call of compiled
    code, by default for up to five milliseconds: at half of the top load, most of the slowest
    hundredth of all requests.
    """
    sys.setswitchinterval(_SWITCH)
    for name, worker in context.service.workers.items():
        keeper = worker.keeper
        again = f", {keeper.replayed:,} records replayed" if keeper.replayed else ""
        say(f"model {name}: {keeper.model.rounds:,} rows learned{again}")
    config = uvicorn.Config(
        application(context),
        host=host,
        port=port,
        log_level="warning",
        access_log=False,
        timeout_graceful_shutdown=_PATIENCE,
        timeout_keep_alive=30,
        limit_concurrency=None,
        server_header=False,
    )
    _Server(config, context, say).run()
