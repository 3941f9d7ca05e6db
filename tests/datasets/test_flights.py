"""Flights as numbers: the encoder against a slow one, and files with faults."""

import bz2
import math

import numpy as np
import pytest

from forks import datasets
from forks.datasets.flights import FEATURES, keep_flights, read_flights
from forks.streams import StreamError

HEADER = "date,delay,distance,origin,destination"
AIRPORTS = ("ATL", "BOS", "LAX", "ZZZ")


def made_up(n, seed=0, gap=40):
    """Rows of text, some days of flights with a pause of a week in the middle."""
    rng = np.random.default_rng(seed)
    minutes = np.cumsum(rng.integers(0, gap, n))
    minutes[n // 2 :] += 7 * 1440
    dates = np.datetime64("2001-01-31T22:00") + minutes
    rows = []
    for date in dates:
        delay = int(rng.choice([-20, 0, 14, 15, 90, 3000]))
        ends = rng.choice(AIRPORTS, 2)
        rows.append(f"{date},{delay},{rng.integers(20, 3000)},{ends[0]},{ends[1]}")
    return rows


def write(path, rows, header=HEADER):
    path.write_text("\n".join([header, *rows]) + "\n")
    return path


def all_of(chunks):
    parts = list(chunks)
    return np.concatenate([X for X, _ in parts]), np.concatenate([y for _, y in parts])


def slow_rows(rows):
    """The features from their definition: for each row, look at all rows before it."""
    flights = []
    for row in rows:
        date, delay, distance, origin, destination = row.split(",")
        minute = int(np.datetime64(date, "m").astype(int))
        landing = minute + min(30 + int(distance) // 8 + max(int(delay), 0), 4095)
        flights.append((minute, int(delay), int(distance), origin, destination, landing))

    def share(now, known, memory, wider, weight):
        kept = [(math.exp((f[5] - now) / memory), f[1] >= 15) for f in known]
        late = sum(w for w, is_late in kept if is_late)
        return (late + weight * wider) / (sum(w for w, _ in kept) + weight)

    X = []
    for i, (now, _, distance, origin, destination, _) in enumerate(flights):
        known = [f for f in flights[:i] if f[5] <= now]
        start = [f for f in known if f[3] == origin]
        end = [f for f in known if f[4] == destination]
        route = [f for f in start if f[4] == destination]
        month = share(now, known, 43_200, 0.2, 100)
        hour = share(now, known, 60, month, 50)
        angles = [2 * math.pi * (now % p) / p for p in (1440, 10_080, 525_949)]
        waves = [wave(angle) for angle in angles for wave in (math.sin, math.cos)]
        shares = [
            10 * (share(now, start, 43_200, month, 50) - 0.2),
            10 * (share(now, end, 43_200, month, 50) - 0.2),
            5 * (share(now, route, 43_200, month, 10) - 0.2),
            10 * (hour - 0.2),
            4 * (share(now, start, 60, hour, 3) - 0.2),
            4 * (share(now, end, 60, hour, 3) - 0.2),
        ]
        X.append([*waves, math.log(distance / 600), *shares])
    return np.array(X), np.array([1.0 if f[1] >= 15 else -1.0 for f in flights])


def test_features_are_those_of_the_definition(tmp_path):
    rows = made_up(400)
    X, y = all_of(read_flights(write(tmp_path / "f.csv", rows)))
    expected, labels = slow_rows(rows)
    assert X.shape == (400, len(FEATURES))
    np.testing.assert_allclose(X, expected, rtol=1e-9, atol=1e-9)
    np.testing.assert_array_equal(y, labels)
    assert X[:, 7:].std(axis=0).min() > 0.01  # the shares do move


@pytest.mark.parametrize("chunk", [1, 7, 100, 10_000])
def test_no_bit_depends_on_the_chunks(tmp_path, chunk):
    path = write(tmp_path / "f.csv", made_up(600, gap=5))
    X, y = all_of(read_flights(path, chunk=599))
    rows, labels = all_of(read_flights(path, chunk=chunk))
    np.testing.assert_array_equal(rows, X)
    np.testing.assert_array_equal(labels, y)


def test_a_row_does_not_know_its_own_delay_nor_one_that_has_not_landed(tmp_path):
    rows = made_up(300, gap=5)
    X, _ = all_of(read_flights(write(tmp_path / "f.csv", rows)))
    date, _, distance, *ends = rows[100].split(",")
    changed = ",".join([date, "4000", distance, *ends])  # was at most 3000
    late = [*rows[:100], changed, *rows[101:]]
    again, _ = all_of(read_flights(write(tmp_path / "late.csv", late)))
    minute = np.array([row[:16] for row in rows], "datetime64[m]").astype(int)
    landed = minute >= minute[100] + 30 + int(distance) // 8
    np.testing.assert_array_equal(again[~landed], X[~landed])
    np.testing.assert_array_equal(again[:101], X[:101])
    never = [*rows[:100], *rows[101:]]
    without, _ = all_of(read_flights(write(tmp_path / "never.csv", never)))
    assert (without[150:] != again[151:]).any() or (without[150:] != X[151:]).any()


def test_a_kept_copy_gives_the_same_rows_and_is_made_once(tmp_path):
    path = tmp_path / "f.csv.bz2"
    path.write_bytes(bz2.compress("\n".join([HEADER, *made_up(500)]).encode()))
    kept = keep_flights(path, tmp_path / "cache")
    assert kept.stat().st_size == 500 * 12
    stamp = kept.stat().st_mtime_ns
    assert keep_flights(path, tmp_path / "cache") == kept
    assert kept.stat().st_mtime_ns == stamp
    for one, other in zip(all_of(read_flights(path)), all_of(read_flights(kept)), strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize(
    ("row", "told"),
    [
        ("2001-02-30T10:00,1,100,ATL,BOS", "column 'date': '2001-02-30T10:00' is not a date"),
        ("2001-03-01,1,100,ATL,BOS", "column 'date'"),
        ("today,1,100,ATL,BOS", "column 'date': 'today'"),
        (",1,100,ATL,BOS", "column 'date': '' is not"),
        ("2001-03-01T10:00,late,100,ATL,BOS", "column 'delay': 'late' is not a whole number"),
        ("2001-03-01T10:00,,100,ATL,BOS", "column 'delay'"),
        ("2001-03-01T10:00,1.5,100,ATL,BOS", "column 'delay'"),
        ("2001-03-01T10:00,40000,100,ATL,BOS", "column 'delay'"),
        ("2001-03-01T10:00,1,0,ATL,BOS", "column 'distance': '0' is not a whole number of miles"),
        ("2001-03-01T10:00,1,100,atl,BOS", "column 'origin': 'atl' is not an airport's code"),
        ("2001-03-01T10:00,1,100,ATL,BO", "column 'destination': 'BO'"),
        ("2001-03-01T10:00,1,100,ATL,BOST", "column 'destination': 'BOST'"),
        ("2001-03-01T10:00,1,100,ATL", "4 fields, but the first row has 5"),
    ],
)
def test_a_fault_is_named_with_its_row(tmp_path, row, told):
    rows = made_up(30)
    path = write(tmp_path / "f.csv", [*rows[:24], row, *rows[24:]])
    with pytest.raises(StreamError, match=r"f\.csv, row 25") as error:
        list(read_flights(path, chunk=10))
    assert told in str(error.value)
    with pytest.raises(StreamError, match="row 25"):
        keep_flights(path, tmp_path / "cache")
    assert list((tmp_path / "cache").iterdir()) == []


def test_a_missing_column_is_named(tmp_path):
    path = write(tmp_path / "f.csv", ["2001-01-01T10:00,1,2"], "date,delay,distance")
    with pytest.raises(StreamError, match=r"f\.csv has no column 'origin'; it has date, delay"):
        list(read_flights(path))


def test_a_cut_off_file_is_named_with_its_row(tmp_path):
    whole = bz2.compress("\n".join([HEADER, *made_up(5_000)]).encode())
    path = tmp_path / "f.csv.bz2"
    path.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(StreamError, match=r"f\.csv\.bz2 cannot be read beyond row \d+"):
        list(read_flights(path))


def test_the_registry_streams_flights(tmp_path, monkeypatch):
    monkeypatch.setenv("FORKS_DATA", str(tmp_path))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    text = "\n".join([HEADER, *made_up(50)]).encode()
    (tmp_path / "flights-3m.csv.bz2").write_bytes(bz2.compress(text))
    with pytest.raises(StreamError, match="has 3,000,000 rows, and 50 are there"):
        datasets.load("flights-3m")
    X, y = all_of(datasets.stream("flights-3m"))
    assert X.shape == (50, datasets.describe("flights-3m").features)
    for chunks in (datasets.stream("flights-3m", 7), datasets.prepare("flights-3m")(7)):
        rows, labels = all_of(chunks)
        np.testing.assert_array_equal(rows, X)
        np.testing.assert_array_equal(labels, y)


@pytest.mark.needs_data
def test_the_first_real_flights():
    X, y = next(datasets.stream("flights-3m", 1_000))
    assert X.shape == (1_000, 13)
    assert np.isfinite(X).all()
    np.testing.assert_array_equal(y[:4], [1.0, 1.0, -1.0, -1.0])
    assert X[0, 6] == pytest.approx(math.log(2176 / 600))
