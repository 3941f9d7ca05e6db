"""Tables as models of earlier versions read them."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse
from sklearn.utils import murmurhash3_32

from forks.streams import StreamError
from forks.streams.hashed import HashedFile, HashedInput

COLOURS = ["red", "green", 'dark, "blue"', "", "größer"]


@pytest.fixture
def table(tmp_path):
    rng = np.random.default_rng(0)
    colours = [COLOURS[i % 5] for i in range(40)]
    path = tmp_path / "t.csv"
    lines = [
        f'{x},"{colour.replace(chr(34), 2 * chr(34))}",k{i % 7},{"yes" if x > 0 else "no"}'
        for i, (x, colour) in enumerate(zip(rng.normal(size=40), colours, strict=True))
    ]
    path.write_text("\n".join(["a,colour,code,label", *lines]))
    return path, colours


def place_and_sign(text, width):
    hashed = murmurhash3_32(text.encode(), seed=0)
    return abs(hashed) % width, 1.0 if hashed >= 0 else -1.0


def known_of(bits, **more):
    return HashedInput(
        format="csv",
        n_features=1 + 2**bits,
        label="label",
        numbers=("a",),
        categorical=("colour", "code"),
        hash_bits=bits,
        numeric_labels=False,
        **more,
    )


@pytest.mark.parametrize("bits", [0, 1, 3, 11])
def test_text_columns_are_hashed_as_documented(table, bits):
    path, colours = table
    with HashedFile(str(path), known_of(bits)) as file:
        (rows,) = file.chunks()
    assert rows.X.shape[1] == 1 + 2**bits
    assert sparse.issparse(rows.X) == (bits == 11)
    X = rows.X.toarray() if bits == 11 else rows.X
    for i, (x, colour) in enumerate(zip(X[:, 1:], colours, strict=True)):
        expected = np.zeros(2**bits)
        for text in (f"colour={colour}", f"code=k{i % 7}"):
            place, sign = place_and_sign(text, 2**bits)
            expected[place] += sign
        np.testing.assert_array_equal(x, expected)


def test_hashing_is_that_of_the_first_file_whatever_the_chunks(table):
    with HashedFile(str(table[0]), known_of(4)) as file:
        (rows,) = file.chunks()
    known = HashedInput.from_json(known_of(4).as_json())
    with HashedFile(str(table[0]), known, chunk=7) as again:
        X = np.concatenate([part.X for part in again.chunks()])
    np.testing.assert_array_equal(X, rows.X)


def test_a_model_of_another_kind_of_file_is_refused(table):
    known = HashedInput(format="libsvm", n_features=3)
    with pytest.raises(ValueError, match=r"t.csv is csv, but the model learned libsvm"):
        HashedFile(str(table[0]), known, format="csv")


def test_gaps_are_what_they_were(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("a,label\n1,0\n,1\n")
    known = HashedInput(format="csv", n_features=1, label="label", numbers=("a",))
    fault = r"t.csv, row 2, column 'a': the cell is empty"
    with pytest.raises(StreamError, match=fault), HashedFile(str(path), known) as file:
        list(file.chunks())
    with HashedFile(str(path), replace(known, missing="zero")) as file:
        ((X, y, _),) = file.chunks()
    np.testing.assert_array_equal(X, [[1.0], [0.0]])
    np.testing.assert_array_equal(y, [0.0, 1.0])


@pytest.mark.parametrize(
    "changes",
    [
        {"format": "xml"},
        {"format": ["csv"]},
        {"hash_bits": 10**12},
        {"hash_bits": "3"},
        {"n_features": 9.0},
        {"missing": "mean"},
        {"hash_bits": 25},
        {"hash_bits": 3.0},
        {"n_features": 8},
        {"numbers": [1]},
        {"more": 1},
    ],
)
def test_a_wrong_description_of_an_input_is_refused(changes):
    good = HashedInput(format="csv", n_features=9, numbers=("a",), categorical=("b",), hash_bits=3)
    assert HashedInput.from_json(good.as_json()) == good
    with pytest.raises(ValueError, match="the description of the input is wrong"):
        HashedInput.from_json({**good.as_json(), **changes})


def test_models_of_another_hash_are_refused():
    made = HashedInput(format="csv", n_features=9, numbers=("a",), categorical=("b",), hash_bits=3)
    old = made.as_json()
    del old["hashing"]
    with pytest.raises(ValueError, match="hashed in another way: learn the model again"):
        HashedInput.from_json(old)
    old |= {"categorical": [], "n_features": 1}
    assert HashedInput.from_json(old).categorical == ()
