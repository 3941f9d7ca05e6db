"""Dates whose year comes last: which part is the day, what is no date, and models that know it."""

import datetime
import json

import numpy as np
import pytest

from forks.features import TableEncoder
from forks.features.table import CellError
from forks.features.table.dates import DAY_FIRST, MONTH_FIRST, order_of, time_of_text

FORMS = {
    "%d.%m.%Y": "day first",
    "%d/%m/%Y": "day first",
    "%d-%m-%Y": "day first",
    "%d.%m.%Y %H:%M": "day first",
    "%d/%m/%Y, %H:%M:%S": "day first",
    "%d-%m-%YT%H:%M:%S.%f": "day first",
    "%m/%d/%Y": "month first",
    "%m/%d/%Y %I:%M %p": "month first",
    "%m/%d/%Y %I:%M:%S %p": "month first",
}


def times_of(n=400, hours=0):
    start = datetime.datetime(2019, 12, 25, 0, 5 if hours else 0)
    return [start + datetime.timedelta(days=i, hours=hours * i) for i in range(n)]


@pytest.mark.parametrize("form", FORMS)
def test_each_form_has_the_features_of_the_iso_form(form):
    times = times_of(hours=5 if "%H" in form or "%I" in form else 0)
    y = np.arange(len(times)) % 3
    written = {"when": [time.strftime(form) for time in times]}
    iso = {"when": [time.isoformat() for time in times]}
    ours, theirs = TableEncoder(), TableEncoder()
    np.testing.assert_array_equal(ours.learn_transform(written, y), theirs.learn_transform(iso, y))
    assert ours.columns_ == [("when", "time", FORMS[form])]
    assert theirs.columns_ == [("when", "time", "dates and times")]


@pytest.mark.parametrize(
    ("text", "order", "iso"),
    [
        ("1.2.2024", DAY_FIRST, "2024-02-01T00:00:00"),
        ("1.2.2024", MONTH_FIRST, "2024-01-02T00:00:00"),
        (" 31/12/2024  7:05 ", DAY_FIRST, "2024-12-31T07:05:00"),
        ("12/31/2024 12:00 am", MONTH_FIRST, "2024-12-31T00:00:00"),
        ("12/31/2024 12:30 P.M.", MONTH_FIRST, "2024-12-31T12:30:00"),
        ("31.12.2024 07:05 utc", DAY_FIRST, "2024-12-31T07:05:00+00:00"),
        ("31.12.2024 07:05:01.5+02:00", DAY_FIRST, "2024-12-31T07:05:01.500000+02:00"),
        ("2024-12-31", DAY_FIRST, "2024-12-31T00:00:00"),
        ("2024/1/2 07:05", MONTH_FIRST, "2024-01-02T07:05:00"),
    ],
)
def test_texts(text, order, iso):
    assert time_of_text(text, order).isoformat() == iso


@pytest.mark.parametrize(
    ("text", "order"),
    [
        ("31.12.2024", ""),
        ("31.12.2024", MONTH_FIRST),
        ("12/31/2024", DAY_FIRST),
        ("29.2.2023", DAY_FIRST),
        ("0.1.2024", DAY_FIRST),
        ("1.2/2024", DAY_FIRST),
        ("1.2.24", DAY_FIRST),
        ("1.2.2024 25:00", DAY_FIRST),
        ("1/2/2024 13:00 PM", MONTH_FIRST),
        ("1.2.20245", DAY_FIRST),
    ],
)
def test_texts_that_are_no_dates(text, order):
    with pytest.raises(ValueError, match=r".*"):
        time_of_text(text, order)


def test_a_part_above_twelve_tells_the_order():
    assert order_of(["1/2/2024", "13/2/2024"]) == (DAY_FIRST, True)
    assert order_of(["1/2/2024", "1/13/2024"]) == (MONTH_FIRST, True)
    assert order_of(["1/2/2024", "2024-13-01"]) == (DAY_FIRST, False)
    assert order_of(["2024-01-02", ""]) == ("", True)


def test_what_is_assumed_is_said_and_can_be_told():
    table = {"when": ["1/2/2024", None, "3/2/2024"]}
    found = TableEncoder().look(table)
    assert found.columns_ == [("when", "time", "assumed day first")]
    assert TableEncoder(kinds={"when": "time"}).look(table).columns_[0].why == (
        "told, assumed day first"
    )
    told = TableEncoder(kinds={"when": "month-first"}).fit(table)
    assert told.columns_ == [("when", "time", "told, month first")]
    apart = told.transform({"when": ["1/2/2024", "2/2/2024"]})[:, -3]
    assert apart[1] - apart[0] == pytest.approx(31 / 365.2425)  # years: a month, not a day


@pytest.mark.parametrize(
    "texts",
    [
        ["13.1.2024", "1.13.2024"],  # the one or the other
        ["31.2.2024", "1.2.2024"],
        ["1.2.2024", "beta"],
        ["10.0.2024", "10.1.2024"],  # a version, say
        ["1.2.2024.5", "1.2.2024"],
    ],
)
def test_other_columns_stay_categories(texts):
    assert TableEncoder().look({"a": texts}).columns_[0].kind == "category"


def test_a_date_of_the_other_order_is_named():
    encoder = TableEncoder().fit({"when": ["1/2/2024", "3/4/2024"]})
    with pytest.raises(CellError, match=r"row 2: '12/31/2024' is no date or time with the day fir"):
        encoder.partial_fit({"when": ["5/6/2024", "12/31/2024"]})


def test_a_saved_encoder_keeps_the_order():
    y = np.arange(400) % 2
    table = {"when": [time.strftime("%m/%d/%Y") for time in times_of()]}
    whole, first = TableEncoder(), TableEncoder()
    rows = whole.learn_transform(table, y)
    halves = [first.learn_transform({"when": table["when"][:200]}, y[:200])]
    known, arrays = first.to_state()
    again = TableEncoder.from_state(json.loads(json.dumps(known)), arrays)
    halves.append(again.learn_transform({"when": table["when"][200:]}, y[200:]))
    assert np.vstack(halves).tobytes() == rows.tobytes()
    known["layout"]["columns"][0]["time"]["order"] = "year-first"
    with pytest.raises(ValueError, match="description of the encoder is wrong: time"):
        TableEncoder.from_state(known, first.to_state()[1])


def test_a_state_without_an_order_is_of_dates_with_the_year_first():
    encoder = TableEncoder().fit({"when": ["2024-02-01", "2024-02-02"]})
    known, arrays = encoder.to_state()
    assert "order" not in known["layout"]["columns"][0]["time"]  # as earlier versions wrote it
    again = TableEncoder.from_state(known, arrays)
    np.testing.assert_array_equal(
        again.transform({"when": ["2024-02-05"]}), encoder.transform({"when": ["2024-02-05"]})
    )


def test_week_and_year_step_at_midnight_and_the_hour_moves():
    table = {"when": ["2024-02-28T05:00", "2024-02-28T23:30", "2024-02-29T00:30", "2023-12-31"]}
    encoder = TableEncoder().fit(table)
    names = encoder.get_feature_names_out().tolist()
    rows = dict(zip(names, encoder.transform(table).T, strict=True))
    for part in ("weekday", "season"):
        early, late, next_day, _ = rows[f"when {part} sin"]
        assert early == late != next_day
    weekday = 2.0 * np.pi * np.array([2, 2, 3, 6]) / 7.0  # since Monday
    np.testing.assert_allclose(rows["when weekday sin"], np.sin(weekday), atol=1e-12)
    np.testing.assert_allclose(rows["when weekday cos"], np.cos(weekday), atol=1e-12)
    assert len({*rows["when hour sin"]}) == len({*rows["when years"]}) == 4


def test_days_before_1970_step_at_midnight_too():
    table = {"when": ["1969-12-31T00:00", "1969-12-31T23:59", "1970-01-01T00:00"]}
    rows = TableEncoder().fit(table).transform(table)
    np.testing.assert_array_equal(rows[0, 2:6], rows[1, 2:6])
    assert (rows[1, 2:6] != rows[2, 2:6]).all()


def test_a_state_that_does_not_say_so_moves_within_the_day():
    table = {"when": ["2024-02-28T05:00", "2024-02-28T17:00", None]}
    encoder = TableEncoder().fit(table)
    known, arrays = encoder.to_state()
    again = TableEncoder.from_state(json.loads(json.dumps(known)), arrays)
    assert again.transform(table).tobytes() == encoder.transform(table).tobytes()
    assert known["layout"]["columns"][0]["time"].pop("steps") is True
    old = TableEncoder.from_state(known, arrays)  # as earlier versions wrote it
    rows = dict(zip(old.get_feature_names_out(), old.transform(table).T, strict=True))
    turn = 2.0 * np.pi * (2.0 + np.array([5.0, 17.0]) / 24.0) / 7.0
    np.testing.assert_allclose(rows["when weekday sin"][:2], np.sin(turn), atol=1e-12)
    assert rows["when weekday sin"][2] == 0.0
    state, arrays = old.to_state()
    assert "steps" not in state["layout"]["columns"][0]["time"]
    state["layout"]["columns"][0]["time"]["steps"] = 1
    with pytest.raises(ValueError, match="description of the encoder is wrong: time"):
        TableEncoder.from_state(state, arrays)
