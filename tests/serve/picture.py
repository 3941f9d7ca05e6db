"""Draw the page for the documentation: `make serve-picture`.

A service learns two streams that change, one of classes and one of numbers, for as long as it takes
to have something to show; then the page is drawn as it is, light and dark.
"""

import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from shown import browser, served

FOLDER = Path(__file__).parents[2] / "docs" / "guide" / "images"
SECONDS, PAUSE, CHANGE = 130.0, 0.1, 35.0  # of the show, between requests, until all is different
ROWS, IDS = 25, 2  # of a request, and those whose labels come late
LATE = 30  # requests until they come
WIDTH = 1280


def batch(rng, concept):
    """Return rows of a machine, whether it needs care, and what it makes."""
    X = rng.normal(size=(ROWS, 4))
    shifts = rng.choice(["day", "night"], size=ROWS)
    score = X[:, 0] * X[:, 1] if concept % 2 == 0 else X[:, 2] - X[:, 3]
    score = score + 0.25 * rng.normal(size=ROWS)
    names = ("pressure", "flow", "vibration", "temperature")
    rows = [
        {**dict(zip(names, x, strict=True)), "shift": str(shift)}
        for x, shift in zip(X.tolist(), shifts, strict=True)
    ]
    return rows, np.where(score > 0.0, "care", "fine").tolist(), (50.0 + 10.0 * score).tolist()


class Feed:
    """Teaches the models of a service, some rows only when their labels come."""

    def __init__(self, service):
        self.service, self.asked = service, []
        self.rng, self.begin = np.random.default_rng(0), time.monotonic()

    def go_on(self, seconds):
        """Send requests for so long."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            self.send()
            time.sleep(PAUSE)

    def send(self):
        """Send the next rows, and labels of earlier ones."""
        concept = int((time.monotonic() - self.begin) / CHANGE)
        rows, classes, numbers = batch(self.rng, concept)
        self.service.learn("pump", rows, classes)
        self.service.learn("output", rows, numbers)
        ids = [f"{len(self.asked)}-{i}" for i in range(IDS)]
        self.service.ask("POST", "/v1/models/pump/predict", {"rows": rows[:IDS], "ids": ids})
        self.asked.append(zip(ids, classes, strict=False))
        if len(self.asked) > LATE:
            items = [{"id": id, "label": label} for id, label in self.asked[-LATE - 1]]
            self.service.ask("POST", "/v1/models/pump/feedback", {"items": items})


def warm(folder):
    """Have all compiled by a service that is not shown, so that the other one never pauses."""
    with served(folder, "pump", "output") as service:
        feed = Feed(service)
        for _ in range(60):
            feed.send()
        service.ask("GET", "/v1/models/pump/relevance")
        service.stop()


def draw(chromium, feed, theme):
    """Write the picture of the page as it is now."""
    page = chromium.new_page(viewport={"width": WIDTH, "height": 900}, color_scheme=theme)
    page.goto(f"{feed.service.address}/#pump")
    page.wait_for_selector('#status[data-state="live"]')
    feed.go_on(3.0)
    path = FOLDER / f"serve-{theme}.png"
    box = page.locator("#latency").bounding_box()  # what is below needs no picture
    size = {"x": 0, "y": 0, "width": WIDTH, "height": box["y"] + box["height"] + 6}
    page.screenshot(path=path, full_page=True, clip=size)
    print(path, file=sys.stderr)


def main():
    """Draw the page, light and dark."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        warm(Path(folder) / "warm")
        with served(Path(folder) / "shown", "pump", "output") as service, browser() as chromium:
            feed = Feed(service)
            feed.go_on(SECONDS)
            for theme in ("light", "dark"):
                draw(chromium, feed, theme)


if __name__ == "__main__":
    main()
