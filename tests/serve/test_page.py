"""The page, seen in a browser: it loads, follows the service, and shows names as mere text."""

import http.client
import itertools
import json
import re
import time

import pytest

pytest.importorskip("playwright", reason="playwright is not installed")
pytest.importorskip("litestar", reason="the extra serve is not installed")

from playwright.sync_api import expect
from shown import CHROMIUM, CLASSES, HOSTILE, browser, classes_of, rows_of, served

from forks.serve.access import new_token

if CHROMIUM is None:
    pytest.skip("there is no chromium", allow_module_level=True)

expect.set_options(timeout=20_000)


@pytest.fixture(scope="module")
def service(tmp_path_factory):
    """A service with a classifier that has experts, and a regression of a single learner."""
    with served(tmp_path_factory.mktemp("serve") / "state", "pump") as running:
        running.ask("PUT", "/v1/models/flow", {"effort": "fast", "task": "regression"})
        for part in range(4):
            rows, score = rows_of(300, seed=part, turned=part > 1)
            running.learn("pump", rows, classes_of(score))
        rows, score = rows_of(300, seed=9)
        running.learn("flow", rows, score.tolist())
        yield running


@pytest.fixture(scope="module")
def chromium():
    with browser() as begun:
        yield begun


@pytest.fixture
def opened(chromium, service):
    """Open the page in a context of its own; at the end it must have been free of faults."""
    faults, contexts = [], []

    def opening(path="/", address=service.address, **options):
        context = chromium.new_context(**options)
        contexts.append(context)
        page = context.new_page()
        page.on("console", lambda told: told.type == "error" and faults.append(told.text))
        page.on("pageerror", lambda error: faults.append(str(error)))
        page.on("dialog", lambda dialog: (faults.append(dialog.message), dialog.dismiss()))
        page.on(
            "request",
            lambda asked: asked.url.startswith((address, "data:,")) or faults.append(asked.url),
        )
        page.goto(address + path)
        return page

    opening.faults = faults
    yield opening
    for context in contexts:
        context.close()
    assert faults == []


def tile(page, key):
    return page.locator(f'#tiles [data-key="{key}"] .figure')


_SEEDS = itertools.count(100)


def learn_more(service, n):
    rows, score = rows_of(n, next(_SEEDS))
    service.learn("pump", rows, classes_of(score))


def test_it_loads_and_follows_the_service_by_itself(opened, service):
    page = opened("/#pump")
    expect(page.locator("#status")).to_have_text("live")
    expect(page.locator("#model-name")).to_have_text("pump")
    rows = service.ask("GET", "/v1/models/pump")["rows"]
    expect(tile(page, "rows")).to_have_text(f"{rows:,}")
    learn_more(service, 50)
    expect(tile(page, "rows")).to_have_text(f"{rows + 50:,}")
    figures = service.ask("GET", "/v1/models/pump")["figures"]
    expect(tile(page, "now")).to_have_text(f"{100 * (1 - figures['recent_accuracy']):.2f} %")
    expect(tile(page, "all")).to_have_text(f"{100 * (1 - figures['accuracy']):.2f} %")
    last = 100 * figures["recent_last_label_mistake_rate"]
    expect(page.locator('#tiles [data-key="now"]')).to_contain_text(f"last label {last:.2f} %")
    assert page.title() == "pump – forks serve"


def test_a_page_that_has_just_been_opened_shows_what_was_before(opened, service):
    learn_more(service, 300)
    learn_more(service, 300)
    page = opened("/#pump")
    expect(page.locator("#error .plot")).to_have_attribute("aria-label", re.compile("now .* %"))
    assert page.locator("#error canvas").count() == 1
    experts = page.locator("#weights .legend .label")
    expect(experts).to_have_count(10)
    assert experts.nth(0).inner_text() == "expert 0 (long)"
    assert experts.nth(8).inner_text() == "last label"
    shares = [float(text.split()[0]) for text in page.locator("#weights .value").all_inner_texts()]
    assert sum(shares) == pytest.approx(100.0, abs=0.5)
    expect(page.locator("#relevance .legend .label").first).to_be_visible()
    events = service.ask("GET", "/v1/models/pump/events")["events"]
    assert len(events) > 1
    expect(page.locator("#events li")).to_have_count(len(events))
    expect(page.locator("#events li").first).to_contain_text(f"row {events[-1]['round']:,}")


def test_all_charts_are_drawn(opened, service):
    page = opened("/#pump", color_scheme="light")
    learn_more(service, 100)
    drawn = """id => {
      const canvas = document.querySelector(`#${id} canvas`);
      if (!canvas) return 0;
      const colours = new Set();
      const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
      for (let i = 0; i < data.length; i += 4) {
        const ink = data.slice(i, i + 3);  // red, green, blue: no grey
        const isColoured = Math.max(...ink) - Math.min(...ink) > 60;
        if (data[i + 3] > 200 && isColoured) colours.add(ink.join());
      }
      return colours.size;
    }"""
    for chart in ("error", "weights", "relevance", "speed", "latency", "waiting", "memory"):
        end = time.monotonic() + 20.0
        while not page.evaluate(drawn, chart):
            assert time.monotonic() < end, chart
            page.wait_for_timeout(200)


def test_events_are_marked_on_the_axis_and_told_beside_the_cursor(opened, service):
    page = opened("/#pump")
    expect(page.locator("#status")).to_have_text("live")
    while not _events_since(service, page):
        learn_more(service, 100)
    mark = page.locator("#events li").first
    expect(mark).to_contain_text(re.compile(r"\d\d:\d\d:\d\d"))
    plot = page.locator("#error .u-over")
    page.wait_for_timeout(1500)  # the mark is drawn with the next glance
    box = plot.bounding_box()
    for x in range(int(box["width"]), 0, -4):  # look for a mark, from the right
        page.mouse.move(box["x"] + x - 1, box["y"] + 20)
        if page.locator("#error .tip").is_visible():
            break
    expect(page.locator("#error .tip")).to_contain_text("xpert")


def _events_since(service, page):
    """Events that came after the first point that the page has."""
    return page.locator("#events li .when", has_text="·").count()


def test_the_theme_is_that_of_the_system_or_the_one_chosen(opened):
    def ground(page):
        return page.evaluate("getComputedStyle(document.body).backgroundColor")

    light, dark = "rgb(246, 247, 249)", "rgb(18, 22, 27)"
    assert ground(opened(color_scheme="light")) == light
    page = opened(color_scheme="dark")
    expect(page.locator("#status")).to_have_text("live")
    assert ground(page) == dark
    page.get_by_label("Theme").select_option("light")
    assert ground(page) == light
    page.reload()
    assert ground(page) == light
    expect(page.get_by_label("Theme")).to_have_value("light")
    page.get_by_label("Theme").select_option("system")
    assert ground(page) == dark


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_can_be_read(opened, scheme):
    page = opened("/#pump", color_scheme=scheme)
    expect(page.locator("#status")).to_have_text("live")
    for ink in ("text", "quiet", "accent", "bad"):
        for ground in ("ground", "card"):
            assert _contrast(*(_colour(page, name) for name in (ink, ground))) >= 4.5, (ink, ground)
    assert _contrast(_colour(page, "bad"), _colour(page, "bad-ground")) >= 4.5


def _colour(page, name):
    asked = f"getComputedStyle(document.documentElement).getPropertyValue('--{name}')"
    digits = page.evaluate(asked).strip().lstrip("#")
    return [int(digits[i : i + 2], 16) / 255 for i in (0, 2, 4)]


def _contrast(one, other):
    """The contrast of two colours as WCAG 2 defines it."""
    lights = []
    for colour in (one, other):
        linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in colour]
        lights.append(0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2])
    return (max(lights) + 0.05) / (min(lights) + 0.05)


def test_models_are_switched_and_the_address_keeps_the_choice(opened):
    page = opened()
    expect(page.locator("#models a")).to_have_count(2)
    page.locator("#models a", has_text="flow").click()
    expect(page.locator("#model-name")).to_have_text("flow")
    assert page.url.endswith("#flow")
    expect(page.locator("#facts")).to_contain_text("regression")
    expect(page.locator("#tiles")).to_contain_text("Error now")
    expect(page.locator("#weights")).to_contain_text("a single one")
    page.reload()
    expect(page.locator("#model-name")).to_have_text("flow")
    page.go_back()
    expect(page.locator("#model-name")).not_to_have_text("flow")
    page.goto(page.url.partition("#")[0] + "#%E0%A4%A")  # no name at all
    expect(page.locator("#status")).to_have_text("live")


def test_models_are_switched_by_keyboard_and_keep_the_focus(opened, service):
    page = opened("/#pump")
    link = page.locator("#models a", has_text="flow")
    link.focus()
    page.keyboard.press("Enter")
    expect(page.locator("#model-name")).to_have_text("flow")
    rows = service.ask("GET", "/v1/models/pump")["rows"]
    learn_more(service, 20)
    page.goto(page.url.replace("#flow", "#pump"))
    expect(tile(page, "rows")).to_have_text(f"{rows + 20:,}")
    expect(link).to_be_focused()


def test_names_of_columns_and_classes_are_mere_text(opened):
    page = opened("/#pump")
    expect(page.locator("#facts")).to_contain_text(CLASSES[1])
    expect(page.locator("#relevance .label", has_text=HOSTILE)).to_have_text(HOSTILE)
    assert page.locator("img, b, main script").count() == 0


def faked(page, state):
    """Have the page follow a stream that says one thing."""
    body = f"event: state\ndata: {json.dumps(state)}\n\n"
    page.route(
        "**/v1/live*", lambda route: route.fulfill(body=body, content_type="text/event-stream")
    )
    page.reload()


def test_hostile_models_events_and_faults_are_mere_text(opened, service):
    page = opened("/")
    told = service.state()
    model = told["model"]
    model["name"] = told["models"][0]["name"] = HOSTILE
    model["storage_fault"] = told["models"][0]["storage_fault"] = HOSTILE
    named = {"feature": 0, "name": HOSTILE}
    model["events"] = [
        {"round": 7, "event": HOSTILE, "expert": HOSTILE, "rows": 9,
         "relevance": {**named, "ratio": 9.0}, "shift": {**named, "deviations": 3.0}},
    ]  # fmt: skip
    told["version"] = model["task"] = HOSTILE
    faked(page, told)
    expect(page.locator("#model-name")).to_have_text(HOSTILE)
    expect(page.get_by_role("alert")).to_contain_text(f"{HOSTILE}: {HOSTILE}")
    expect(page.locator("#events li")).to_contain_text(HOSTILE)
    assert page.locator("#models a").first.get_attribute("href").startswith("#%3Cimg")
    page.locator("#models a").first.click()
    expect(page.locator("#model-name")).to_have_text(HOSTILE)
    assert page.locator("img").count() == 0


def test_a_fault_of_the_disk_is_told(opened, service):
    page = opened("/#pump")
    expect(page.locator("#fault")).to_be_hidden()
    told = service.state()
    told["model"]["storage_fault"] = told["models"][0]["storage_fault"] = "No space left on device"
    faked(page, told)
    expect(page.get_by_role("alert")).to_contain_text("pump: No space left on device")
    expect(page.locator("#disk")).to_contain_text("No space left on device")


def test_a_service_that_is_gone_and_comes_back(opened, service):
    page = opened("/#pump")
    expect(page.locator("#status")).to_have_text("live")
    page.route("**/v1/live*", lambda route: route.abort())
    page.evaluate("location.hash = 'flow'")
    expect(page.locator("#status")).to_contain_text("cannot be reached")
    page.unroute("**/v1/live*")
    expect(page.locator("#status")).to_have_text("live")
    expect(page.locator("#model-name")).to_have_text("flow")
    opened.faults.clear()  # the browser's own words on the connection


@pytest.mark.parametrize("width", [320, 375, 768])
def test_a_phone_needs_no_scrolling_to_the_side(opened, width):
    page = opened("/#pump", viewport={"width": width, "height": 700})
    expect(page.locator("#events li").first).to_be_visible()
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    outside = page.evaluate(
        "[...document.querySelectorAll('main *')].filter(e => e.getBoundingClientRect().right > "
        "innerWidth + 1).length"
    )
    assert outside == 0


def test_streams_that_were_left_do_not_count(service):
    def follow():
        connection = http.client.HTTPConnection(service.address.removeprefix("http://"), timeout=20)
        connection.request("GET", "/v1/live")
        answer = connection.getresponse()
        answer.read(20)
        return connection, answer

    held = [follow() for _ in range(101)]
    assert held[-1][1].status == 429
    for connection, answer in held:
        answer.close()
        connection.close()
    service.state()  # which waits until they have ended
    connection, answer = follow()
    assert answer.status == 200
    answer.close()
    connection.close()


def test_headings_and_labels_are_there_for_those_who_listen(opened):
    page = opened("/#pump")
    expect(page.locator("#status")).to_have_text("live")
    expect(page.get_by_role("heading", level=1)).to_have_text("forks serve")
    titles = page.get_by_role("heading", level=2).all_inner_texts()
    assert {"pump", "Mistakes", "Weights of the experts", "Events"} <= set(titles)
    expect(page.get_by_role("navigation", name="Models")).to_be_visible()
    expect(page.get_by_role("img", name=re.compile("Mistakes: now"))).to_be_visible()
    assert page.locator("#models [aria-current=page]").inner_text().startswith("pump")


def test_a_token_is_asked_for_and_kept_for_the_session(opened, tmp_path):
    token, line = new_token("predict", "page")
    (tmp_path / "tokens").write_text(line + "\n")
    with served(tmp_path / "state", "--tokens", tmp_path / "tokens", token=token) as running:
        page = opened("/", running.address, viewport={"width": 360, "height": 700})
        field = page.get_by_label("Token")
        expect(field).to_be_focused()
        assert page.evaluate("document.documentElement.scrollWidth") <= 360
        field.fill("wrong")
        field.press("Enter")
        expect(page.locator("#token-note")).to_contain_text("does not know")
        field.fill(token)
        page.get_by_role("button", name="Show the service").click()
        expect(page.locator("#status")).to_have_text("live")
        expect(page.locator("#model-name")).to_have_text("default")
        assert token not in page.url
        page.reload()
        expect(page.locator("#status")).to_have_text("live")
        expect(field).to_be_hidden()
        assert running.stop() < 10.0  # a page that follows does not hold it up
        expect(page.locator("#status")).to_contain_text("again in")
    opened.faults.clear()  # the browser's own words on 401 and the end of the service
