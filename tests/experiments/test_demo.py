import io

import numpy as np
import pytest
from rich.console import Console

demo = pytest.importorskip("forks.experiments.demo", reason="the demo needs matplotlib")


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    output = io.StringIO()
    picture = tmp_path_factory.mktemp("demo") / "new" / "demo.png"
    console = Console(file=output, width=80)
    return demo.run_demo(rows=20_000, seed=1, picture=picture, console=console), output.getvalue()


def test_forks_makes_far_fewer_mistakes_than_the_linear_model(run):
    result, _ = run
    assert result.drifts == [5_000, 10_000, 15_000]
    assert result.forks.mistake_rate < 0.25
    assert result.forks.settled_rate < 0.16
    assert 0.30 < result.linear.mistake_rate < 0.55
    assert result.forks.rows_per_second > 1_000


def test_the_windowed_rates_cover_the_stream(run):
    result, _ = run
    np.testing.assert_array_equal(result.rows, np.arange(500, 20_001, 500))
    for model in (result.forks, result.linear):
        assert model.windowed.shape == result.rows.shape
        # windows that do not overlap: 2,000 rows each, so every fourth
        assert np.mean(model.windowed[3::4]) == pytest.approx(model.mistake_rate)
        assert model.settled_rate == pytest.approx(np.mean(model.windowed[[9, 19, 29, 39]]))


def test_the_picture_is_drawn(run):
    result, _ = run
    assert result.picture.read_bytes().startswith(b"\x89PNG")
    assert result.picture.stat().st_size > 20_000


def test_plain_lines_where_there_is_no_terminal(run):
    result, text = run
    lines = text.splitlines()
    assert "compiles" in lines[0]
    progress = [line.split()[0] for line in lines if line.count(" %") == 4]
    assert progress == [f"{rows:,}" for rows in range(2_500, 20_001, 2_500)]
    assert f"{100 * result.forks.mistake_rate:.1f} %" in text
    assert lines[-1] == f"Picture: {result.picture}"
    assert "\x1b" not in text


def test_the_line_is_rewritten_on_a_terminal(tmp_path, monkeypatch):
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr(demo, "_REFRESHES", 200)  # or a fast machine is done before the second
    output = io.StringIO()
    console = Console(file=output, width=100, force_terminal=True)
    demo.run_demo(rows=20_000, picture=tmp_path / "demo.png", console=console)
    assert "\x1b[2K" in output.getvalue()  # erase the line


def test_rows_must_be_positive():
    with pytest.raises(ValueError, match="rows must be at least 1, got 0"):
        demo.run_demo(rows=0)
