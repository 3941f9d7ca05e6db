"""What `verbose` tells, and that it changes nothing."""

import numpy as np
from small_streams import labelled

from forks import OnlineKernelClassifier
from forks.estimators import telling
from forks.estimators.saving import as_bytes, from_bytes
from forks.files import pack, unpack

X, Y = labelled()


def test_verbose_tells_how_far_it_is_and_changes_nothing(monkeypatch, capsys):
    monkeypatch.setattr(telling, "_BLOCK", 40)
    monkeypatch.setattr(telling, "_SECONDS", 0.0)
    scores = OnlineKernelClassifier("kogd", verbose=True).prequential(X, Y)
    told = capsys.readouterr()
    assert "forks: 40 of 150 rows in " in told.err
    assert told.out == ""
    np.testing.assert_array_equal(OnlineKernelClassifier("kogd").prequential(X, Y), scores)
    assert capsys.readouterr().err == ""


def test_compiling_is_told(monkeypatch, capsys):
    model = OnlineKernelClassifier("kogd", verbose=True).partial_fit(X[:50], Y[:50])
    capsys.readouterr()
    monkeypatch.setattr(type(model.engine_), "compiled", property(lambda engine: False))
    model.partial_fit(X[50:], Y[50:])
    assert capsys.readouterr().err.startswith("forks: compiling KOGD")


def test_files_of_before_are_not_verbose():
    model = OnlineKernelClassifier("kogd").fit(X, Y)
    header, arrays = unpack("here", as_bytes(model))
    del header["parameters"]["verbose"]
    library = header.pop("library")
    for name in ("format", "version", "digest"):
        header.pop(name, None)
    assert from_bytes("old", pack(header, arrays, library)).model.verbose is False
