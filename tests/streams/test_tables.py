"""Tables with text and gaps, as the command line reads them."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.utils import murmurhash3_32

from forks.streams import StreamError
from forks.streams.tables import Input, InputFile

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


@pytest.mark.parametrize("bits", [0, 1, 3, 11])
def test_text_columns_are_hashed_as_documented(table, bits):
    path, colours = table
    with InputFile(str(path), hash_bits=bits) as file:
        (rows,) = file.chunks()
    assert file.input.numbers == ("a",)
    assert file.input.categorical == ("colour", "code")
    assert file.input.n_features == rows.X.shape[1] == 1 + 2**bits
    assert sparse.issparse(rows.X) == (bits == 11)
    X = rows.X.toarray() if bits == 11 else rows.X
    for i, (x, colour) in enumerate(zip(X[:, 1:], colours, strict=True)):
        expected = np.zeros(2**bits)
        for text in (f"colour={colour}", f"code=k{i % 7}"):
            place, sign = place_and_sign(text, 2**bits)
            expected[place] += sign
        np.testing.assert_array_equal(x, expected)


def test_hashing_is_that_of_the_first_file_whatever_the_chunks(table):
    with InputFile(str(table[0]), hash_bits=4) as file:
        (rows,) = file.chunks()
    known = Input.from_json(file.input.as_json())
    with InputFile(str(table[0]), known=known, chunk=7) as again:
        X = np.concatenate([part.X for part in again.chunks()])
    np.testing.assert_array_equal(X, rows.X)


def test_a_model_of_another_kind_of_file_is_refused(table, tmp_path):
    known = Input(format="libsvm", n_features=3)
    with pytest.raises(ValueError, match=r"t.csv is csv, but the model learned libsvm"):
        InputFile(str(table[0]), known=known, format="csv")


def test_errors_name_the_parameter(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("a,y\n1,0\n,1\n")
    fault = r"t.csv, row 2, column 'a': the cell is empty \(missing='zero' takes it for 0\)"
    with pytest.raises(StreamError, match=fault), InputFile(str(path)) as file:
        list(file.chunks())
    with InputFile(str(path), missing="zero") as file:
        ((X, y),) = file.chunks()
    np.testing.assert_array_equal(X, [[1.0], [0.0]])
    np.testing.assert_array_equal(y, [0.0, 1.0])


def test_an_underscore_is_in_no_number_in_any_chunk(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("a,y\n1,0\n2,1\n1_000,0\n")
    with InputFile(str(path)) as file:
        list(file.chunks())
    assert file.input.categorical == ("a",)
    fault = r"row 3, column 'a': '1_000' is not a finite number"
    with pytest.raises(StreamError, match=fault), InputFile(str(path), chunk=2) as file:
        list(file.chunks())


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
    good = Input(format="csv", n_features=9, numbers=("a",), categorical=("b",), hash_bits=3)
    assert Input.from_json(good.as_json()) == good
    with pytest.raises(ValueError, match="the description of the input is wrong"):
        Input.from_json({**good.as_json(), **changes})


def test_models_of_another_hash_are_refused():
    made = Input(format="csv", n_features=9, numbers=("a",), categorical=("b",), hash_bits=3)
    old = made.as_json()
    del old["hashing"]
    with pytest.raises(ValueError, match="hashed in another way: learn the model again"):
        Input.from_json(old)
    old |= {"categorical": [], "n_features": 1}
    assert Input.from_json(old).categorical == ()
