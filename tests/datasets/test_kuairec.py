"""KuaiRec's pipeline on a made-up copy of its files, against one written with plain dicts."""

import ast
import csv
import shutil

import numpy as np
import pytest

from forks import datasets
from forks.datasets.kuairec import KuaiRec, read_kuairec
from forks.streams import StreamError
from made_up_kuairec import DAY_COLUMNS, MATRIX_COLUMNS, N_TAGS, VALUES, write_kuairec, write_table

USED = [name for name in VALUES if name not in ("onehot_feat3", "onehot_feat8")]
ORDER = [
    "user_active_degree",
    "follow_user_num_range",
    "fans_user_num_range",
    "friend_user_num_range",
    "register_days_range",
    *sorted((n for n in USED if n.startswith("onehot")), key=lambda n: int(n[11:])),
]
COUNTS = [f"{name}_user_num" for name in ("like", "share", "comment", "follow", "reduce_similar")]
FLAGS = ["is_lowactive_period", "is_live_streamer", "is_video_author"]


def plain(matrix, users, videos, days):
    """The recipe, row by row."""
    user_of = {row["user_id"]: row for row in users}
    tags_of = {row["video_id"]: ast.literal_eval(row["feat"]) for row in videos}
    day_of = {(row["video_id"], row["date"]): row for row in days}
    names = ("user_id", "video_id", "timestamp", "watch_ratio", "date")
    kept = [row for row in matrix if all(row[name] for name in names)]
    kept.sort(key=lambda row: float(row["timestamp"]))  # stable
    X, y = [], []
    for row in kept:
        user = user_of[row["user_id"]]
        features = [float(user[name]) for name in FLAGS]
        for name in ORDER:
            values = VALUES[name]
            numeric = all(v.replace(".", "").isdigit() for v in values)
            values = sorted(values, key=float) if numeric else sorted(values)
            features += [float(user[name] == value) for value in values]
        tags = tags_of.get(row["video_id"], [])
        features += [float(tags.count(tag)) for tag in range(N_TAGS)]
        day = day_of.get((row["video_id"], row["date"].removesuffix(".0")))
        if day is None:
            features += [0.0] * 6
        else:
            players = float(day["play_user_num"])
            features.append(float(day["play_progress"]))
            features += [float(day[name]) / players if players else 0.0 for name in COUNTS]
        X.append(features)
        y.append(1.0 if float(row["watch_ratio"]) > 0.75 else -1.0)
    return np.array(X), np.array(y)


@pytest.fixture
def tables(tmp_path):
    return write_kuairec(tmp_path / "data")


@pytest.fixture
def folder(tables, tmp_path):
    return tmp_path / "data"


def all_of(chunks):
    parts = list(chunks)
    return np.concatenate([X for X, _ in parts]), np.concatenate([y for _, y in parts])


def edit(path, change):
    with path.open(newline="") as file:
        rows = list(csv.DictReader(file))
    columns = list(rows[0])
    change(rows)
    write_table(path, columns, rows)


def test_rows_are_those_of_the_recipe(tables, folder):
    X, y = all_of(read_kuairec(folder, chunk=500))
    expected, labels = plain(*tables)
    assert X.shape == expected.shape
    assert X.shape[1] == datasets.describe("kuairec").features == 212
    assert 0 < len(tables[0]) - len(y) < 200  # some rows lack a cell
    np.testing.assert_allclose(X, expected, rtol=1e-15)
    np.testing.assert_array_equal(y, labels)
    assert set(np.unique(y)) == {-1.0, 1.0}


def test_the_made_up_copy_has_ties_and_is_not_sorted(tables):
    stamps = [float(row["timestamp"]) for row in tables[0] if row["timestamp"]]
    assert len(set(stamps)) < len(stamps)
    assert stamps != sorted(stamps)


@pytest.mark.parametrize("chunk", [1, 13, 100_000])
def test_no_bit_depends_on_the_chunks(folder, chunk):
    rows = KuaiRec(*(folder / name for name in FILES))
    X, y = all_of(rows.chunks(500))
    again, labels = all_of(rows.chunks(chunk))
    np.testing.assert_array_equal(again, X)
    np.testing.assert_array_equal(labels, y)
    assert len(rows) == len(y)
    assert rows.n_features == X.shape[1]


FILES = ("small_matrix.csv", "user_features.csv", "item_categories.csv", "item_daily_features.csv")


def test_the_parts_of_a_file_that_is_read_in_pieces_are_one(tables, folder, monkeypatch):
    X, y = all_of(read_kuairec(folder))
    monkeypatch.setattr("forks.datasets.kuairec._CHUNK", 37)
    again, labels = all_of(read_kuairec(folder))
    np.testing.assert_array_equal(again, X)
    np.testing.assert_array_equal(labels, y)


def test_a_row_is_small_until_it_is_given(folder):
    rows = KuaiRec(*(folder / name for name in FILES))
    held = sum(at.nbytes for at in rows._places) + rows._positive.nbytes
    assert held == 13 * len(rows)


@pytest.mark.parametrize(
    ("file", "column"),
    [
        ("small_matrix.csv", "watch_ratio"),
        ("small_matrix.csv", "timestamp"),
        ("user_features.csv", "onehot_feat17"),
        ("item_categories.csv", "feat"),
        ("item_daily_features.csv", "play_progress"),
    ],
)
def test_a_missing_column_is_named(folder, file, column):
    path = folder / file
    path.write_text(path.read_text().replace(column, "other", 1))
    with pytest.raises(StreamError, match=rf"{file} has no column '{column}'"):
        read_kuairec(folder)


@pytest.mark.parametrize(
    ("file", "column", "cell", "told"),
    [
        ("small_matrix.csv", "watch_ratio", "much", "'much' is not a finite number"),
        ("small_matrix.csv", "timestamp", "inf", "'inf' is not a finite number"),
        ("small_matrix.csv", "user_id", "1.5", "'1.5' is not a whole number"),
        ("small_matrix.csv", "date", "-1", "'-1' is not a whole number"),
        ("user_features.csv", "is_live_streamer", "yes", "'yes' is not a finite number"),
        ("user_features.csv", "user_id", "", "'' is not a whole number"),
        ("item_categories.csv", "feat", "27", "'27' is not a list of tags"),
        ("item_categories.csv", "feat", "[a]", "'[a]' is not a list of tags"),
        ("item_daily_features.csv", "like_user_num", "?", "'?' is not a finite number"),
    ],
)
def test_a_bad_cell_is_named_with_its_row(folder, file, column, cell, told):
    def change(rows):
        good = [i for i, row in enumerate(rows) if all(row.values())]
        at = next(i for i in good if i > 20)
        rows[at][column] = cell
        change.row = at + 1

    edit(folder / file, change)
    with pytest.raises(StreamError, match=rf"{file}, row {change.row}, column '{column}'") as error:
        read_kuairec(folder)
    assert told in str(error.value)


def test_a_key_that_stands_twice_is_named(folder):
    edit(folder / "user_features.csv", lambda rows: rows[30].update(user_id="4"))
    with pytest.raises(StreamError, match=r"user_features.csv, row 31: the same key"):
        read_kuairec(folder)


def test_a_file_that_is_cut_off_is_named_with_its_row(folder):
    path = folder / "small_matrix.csv"
    lines = path.read_text().splitlines(keepends=True)
    path.write_text("".join(lines[:1000]) + lines[1000][:9])
    with pytest.raises(StreamError, match=r"small_matrix.csv, row 1000.*fields, but the first row"):
        read_kuairec(folder)


def test_a_matrix_without_a_whole_row_is_named(folder):
    empty = dict.fromkeys(MATRIX_COLUMNS, "")
    write_table(folder / "small_matrix.csv", MATRIX_COLUMNS, [empty])
    with pytest.raises(StreamError, match=r"small_matrix.csv has no row without a missing cell"):
        read_kuairec(folder)
    write_table(folder / "item_daily_features.csv", DAY_COLUMNS, [])
    with pytest.raises(StreamError, match=r"item_daily_features.csv has no rows"):
        read_kuairec(folder)


def test_the_registry_streams_kuairec(folder, tmp_path, monkeypatch):
    monkeypatch.setenv("FORKS_DATA", str(tmp_path / "all"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    with pytest.raises(FileNotFoundError) as error:
        datasets.stream("kuairec")
    for part in (*FILES, "kuairec.com", str(tmp_path / "all")):
        assert part in str(error.value)
    assert not datasets.at_hand("kuairec")
    shutil.copytree(folder, tmp_path / "all" / "kuairec")
    assert datasets.at_hand("kuairec")
    X, y = all_of(read_kuairec(folder))
    for chunks in (datasets.stream("kuairec", 99), datasets.prepare("kuairec")(99)):
        rows, labels = all_of(chunks)
        np.testing.assert_array_equal(rows, X)
        np.testing.assert_array_equal(labels, y)
