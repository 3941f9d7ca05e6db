"""Every link and file that the built site names is there, and nothing comes from elsewhere."""

import logging
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

log = logging.getLogger("mkdocs.hooks.forks")


class _Page(HTMLParser):
    def __init__(self, path):
        super().__init__()
        self.names, self.links, self.loaded = set(), [], []
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag, attributes):
        for key, value in attributes:
            if key in ("id", "name"):
                self.names.add(value)
            elif key == "src" or (key == "href" and tag == "link"):
                self.loaded.append(value)
            elif key == "href":
                self.links.append(value)


def on_post_build(config):
    """Warn of each broken link: a warning fails the strict build."""
    for fault in faults(Path(config["site_dir"])):
        log.warning(fault)


def faults(site):
    """Yield a line for each broken link of a site, and for each file from elsewhere."""
    pages = {path: _Page(path) for path in sorted(site.rglob("*.html"))}
    for path, page in pages.items():
        where = path.relative_to(site)
        for link in page.links + page.loaded:
            url = urlsplit(link)
            if url.scheme or url.netloc:
                if link in page.loaded and url.scheme != "data":
                    yield f"{where} loads {link}"
                continue
            place = unquote(url.path)
            target = site / place.lstrip("/") if place.startswith("/") else path.parent / place
            target = target.resolve() if place else path
            target = target / "index.html" if target.is_dir() else target
            if not target.is_file():
                yield f"{where} links to {link}, which is not there"
            elif url.fragment and unquote(url.fragment) not in pages[target].names | {"__top"}:
                yield f"{where} links to {link}, which has no such place"
