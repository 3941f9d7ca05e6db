"""Machine code on disk: kept while the sources are the same, and never stale."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import forks
from forks.engine import compile

PACKAGE = Path(forks.__file__).parent

# Learns 50 rows with KOGD and prints the scores and where the machine code came from.
SCRIPT = """
import json
import numpy as np
import forks
from forks.learners import KOGD
from forks.engine import Engine
from forks.engine.protocol import run

rng = np.random.default_rng(0)
X, y = rng.normal(size=(50, 3)), rng.choice([-1.0, 1.0], (50, 1))
scores = Engine(KOGD(), 3, 1, rng).learn(X, y)
stats = run.stored.stats
print(json.dumps({
    "package": forks.__file__,
    "scores": scores.ravel().tolist(),
    "hits": sum(stats.cache_hits.values()),
    "misses": sum(stats.cache_misses.values()),
    "stored": run.stored is not run.fresh,
}))
"""


def copied_package(folder):
    """Copy the sources, without what was compiled."""
    target = folder / "copy" / "forks"
    shutil.copytree(PACKAGE, target, ignore=shutil.ignore_patterns("__pycache__"))
    return target


def play(package, script=SCRIPT, **environment):
    """Run a script on a copy of the package, in a process of its own."""
    result = subprocess.run(
        [sys.executable, "-B", "-c", script],
        cwd=package.parent,
        env=os.environ | {"PYTHONPATH": str(package.parent)} | environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert result.returncode == 0, result.stderr
    report = json.loads(result.stdout)
    assert Path(report["package"]).parent == package
    return report


def edit(path, old, new):
    source = path.read_text()
    assert source.count(old) == 1
    path.write_text(source.replace(old, new))


def test_code_is_kept_on_disk_until_another_file_changes(tmp_path):
    package = copied_package(tmp_path)
    cache = {"NUMBA_CACHE_DIR": str(tmp_path / "cache")}
    cold = play(package, **cache)
    warm = play(package, **cache)
    assert (cold["hits"], cold["misses"]) == (0, 1)
    assert (warm["hits"], warm["misses"]) == (1, 0)
    assert warm["scores"] == cold["scores"]

    # The cached loop is in engine/protocol.py; the loss that it calls is in another file.
    edit(package / "losses.py", "return -y if y * f < 1.0", "return -2.0 * y if y * f < 1.0")
    changed = play(package, **cache)
    assert (changed["hits"], changed["misses"]) == (0, 1)
    assert not np.allclose(changed["scores"], cold["scores"])
    np.testing.assert_allclose(changed["scores"][1], 2.0 * cold["scores"][1], rtol=1e-12)

    # A class whose name is in the index of the cache is gone.
    rule = package / "learners" / "kogd.py"
    rule.write_text(rule.read_text().replace("KOGDRule", "OtherRule"))
    other = play(package, **cache)
    assert (other["hits"], other["misses"]) == (0, 1)
    assert other["scores"] == changed["scores"]


def compiled_files():
    """Every file of the package that defines code to be compiled."""
    mark = re.compile(r"^@(njit|exact|entry|jit_dispatch|intrinsic|\w+\.register\()", re.MULTILINE)
    return [path for path in sorted(PACKAGE.rglob("*.py")) if mark.search(path.read_text())]


def in_compiled_rooms(path):
    return path.relative_to(PACKAGE).parts[0] in compile._COMPILED


def test_an_edit_in_any_compiled_room_changes_the_stamp(tmp_path, monkeypatch):
    package = copied_package(tmp_path)
    monkeypatch.setattr(compile, "_PACKAGE", package)
    stamps = set()
    for path in filter(in_compiled_rooms, compiled_files()):
        stamps.add(compile._rooms_digest.__wrapped__())
        with (package / path.relative_to(PACKAGE)).open("a") as file:
            file.write("\n# changed\n")
    assert len(stamps) == len(list(filter(in_compiled_rooms, compiled_files()))) > 30


def test_an_edit_elsewhere_compiles_nothing_again(tmp_path, monkeypatch):
    package = copied_package(tmp_path)
    monkeypatch.setattr(compile, "_PACKAGE", package)
    before = compile._rooms_digest.__wrapped__()
    with (package / "cli" / "__init__.py").open("a") as file:
        file.write("\n# changed\n")
    assert compile._rooms_digest.__wrapped__() == before


def test_code_for_compiled_code_only_is_refused_in_python():
    @compile.njit
    def half(x):
        return 0.5 * x

    @compile.entry
    def quarter(x):
        return half(half(x))

    with pytest.raises(TypeError, match=r"half\(\) is for compiled code"):
        half(1.0)
    assert quarter.over()(1.0) == 0.25
    with pytest.raises(TypeError, match=r"half\(\) is for compiled code"):
        half(1.0)


def unusable(folder):
    """Return settings under which numba finds no folder for its cache, even for root.

    A file stands wherever a folder would have to be made.
    """
    package = copied_package(folder)
    for part in {path.parent for path in package.rglob("*.py")}:
        (part / "__pycache__").write_text("a file")
    blocked = folder / "blocked"
    blocked.write_text("a file")
    places = ("NUMBA_CACHE_DIR", "HOME", "XDG_CACHE_HOME", "LOCALAPPDATA", "IPYTHONDIR")
    return package, {place: str(blocked) for place in places}


def test_without_a_folder_for_the_cache_everything_still_runs(tmp_path):
    package, environment = unusable(tmp_path)
    report = play(package, **environment)
    assert not report["stored"]
    assert np.isfinite(report["scores"]).all()


def test_a_cache_folder_that_is_a_file_does_not_break_the_import(tmp_path):
    package = copied_package(tmp_path)
    blocked = tmp_path / "blocked"
    blocked.write_text("a file")
    script = """
import json
import forks.learners
from forks.engine.protocol import run
print(json.dumps({"package": forks.__file__, "stored": run.stored is not run.fresh}))
"""
    assert play(package, script, NUMBA_CACHE_DIR=str(blocked))["stored"]  # elsewhere
