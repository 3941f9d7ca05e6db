"""The page: plain HTML, its script and style, and uPlot, all shipped with the package."""

from importlib.resources import files
from typing import Any

from litestar import Response, get

_HTML, _SCRIPT, _STYLE = (f"text/{kind}; charset=utf-8" for kind in ("html", "javascript", "css"))
_TYPES = {
    "index.html": _HTML,
    "theme.js": _SCRIPT,
    "page.js": _SCRIPT,
    "charts.js": _SCRIPT,
    "feed.js": _SCRIPT,
    "parts.js": _SCRIPT,
    "track.js": _SCRIPT,
    "words.js": _SCRIPT,
    "page.css": _STYLE,
    "uPlot.iife.min.js": _SCRIPT,
    "uPlot.min.css": _STYLE,
}
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
    for name, kind in _TYPES.items():
        path = "/" if name == "index.html" else f"/page/{name}"
        routes.append(_route(path, files(__package__).joinpath(name).read_bytes(), kind))
    return routes


def _route(path: str, data: bytes, kind: str) -> Any:
    @get(path, sync_to_thread=False)
    def file() -> Response[bytes]:
        return Response(data, media_type=kind, headers=_HEADERS)

    return file
