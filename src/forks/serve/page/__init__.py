"""The page: plain HTML, its script and style, and uPlot, all shipped with the package."""

from importlib.resources import files
from typing import Any

from litestar import Response, get

_KINDS = {"html": "html", "js": "javascript", "css": "css"}  # by the endings of names
_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
    "img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
_HEADERS = {
    "Content-Security-Policy": _POLICY,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-cache",
}


def page_routes() -> list[Any]:
    """Return the handlers of the page and of its files."""
    routes = []
    for file in files(__package__).iterdir():
        if kind := _KINDS.get(file.name.rpartition(".")[2]):
            path = "/" if file.name == "index.html" else f"/page/{file.name}"
            routes.append(_route(path, file.read_bytes(), f"text/{kind}; charset=utf-8"))
    return routes


def _route(path: str, data: bytes, kind: str) -> Any:
    @get(path, sync_to_thread=False)
    def file() -> Response[bytes]:
        return Response(data, media_type=kind, headers=_HEADERS)

    return file
