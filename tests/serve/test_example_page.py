"""The example of a page that asks for predictions, in a browser, with a service behind it."""

from pathlib import Path

import pytest

pytest.importorskip("playwright", reason="playwright is not installed")
pytest.importorskip("litestar", reason="the extra serve is not installed")

from playwright.sync_api import expect
from shown import CHROMIUM, CLASSES, HOSTILE, browser, classes_of, rows_of, served

if CHROMIUM is None:
    pytest.skip("there is no chromium", allow_module_level=True)

EXAMPLE = Path(__file__).parents[2] / "examples" / "page"


def test_it_asks_shows_the_answer_and_sends_the_label(tmp_path):
    with served(tmp_path / "state", "--effort", "fast") as service, browser() as chromium:
        rows, score = rows_of(200, seed=0)
        service.learn("default", rows, classes_of(score))
        page, faults = chromium.new_page(), []
        page.on("pageerror", lambda error: faults.append(str(error)))
        page.on("dialog", lambda dialog: (faults.append(dialog.message), dialog.dismiss()))
        page.route(  # as a proxy does: files beside the endpoints
            "**/page/*", lambda route, asked: route.fulfill(path=EXAMPLE / asked.url.split("/")[-1])
        )
        page.goto(f"{service.address}/page/index.html")
        page.get_by_label(HOSTILE).fill("2.5")
        page.get_by_label("valve").fill("open")
        page.get_by_role("button", name="Predict").click()
        expect(page.get_by_role("heading", name="The answer")).to_be_visible()
        assert page.locator("meter").count() == 2
        told = service.ask("GET", "/v1/models/default")
        assert (told["rows"], told["waiting_labels"]) == (200, 1)
        page.get_by_role("button", name=f"It was {CLASSES[0]}").click()
        expect(page.locator("#answer")).to_contain_text("The label: learned.")
        told = service.ask("GET", "/v1/models/default")
        assert (told["rows"], told["waiting_labels"]) == (201, 0)
        page.get_by_label("pressure").fill("1")
        page.get_by_role("button", name=f"It was {CLASSES[0]}").click()
        expect(page.locator("#answer")).to_contain_text("The label: twice.")
        assert faults == []
        assert page.locator("img, b, main script").count() == 0
