"""The look of figures and pages: ink, sizes, axes.

matplotlib is imported when the first figure is made: tables do without it.
"""

from typing import Any

INK, FAINT = "#22262b", "#c9ccd1"
BLUE, GREY, DARK_GREY = "#1f5fbf", "#a3a8b0", "#6b7079"
CYCLE = (BLUE, GREY, DARK_GREY)  # of curves
POINTS = {"linewidth": 2.0, "marker": "o", "markersize": 4}  # look of a curve of few points

PAGE = f"""
:root {{ color-scheme: light dark; --ink: {INK}; --paper: #fff; --line: #d5d9de; --quiet: #f4f6f8 }}
@media (prefers-color-scheme: dark) {{
  :root {{ --ink: #dde1e6; --paper: #16191d; --line: #3a4048; --quiet: #20242a }}
}}
body {{ max-width: 68rem; margin: 2rem auto; padding: 0 1rem; color: var(--ink);
  background: var(--paper); font: 16px/1.5 system-ui, sans-serif }}
h1, h2, h3 {{ line-height: 1.2; margin: 2em 0 .6em }}
h1 {{ margin-top: 0 }}
p {{ max-width: 46rem }}
table {{ display: block; overflow-x: auto; border-collapse: collapse; font-size: .875rem;
  font-variant-numeric: tabular-nums }}
th, td {{ padding: .3em .7em; border-bottom: 1px solid var(--line); text-align: left;
  white-space: nowrap }}
th {{ vertical-align: bottom; white-space: normal; background: var(--quiet) }}
code {{ background: var(--quiet); padding: .1em .3em; border-radius: .2em }}
img {{ max-width: 100%; background: #fff }}
""".strip()


def figure(
    width: float, height: float, rows: int = 1, columns: int = 1, **options: Any
) -> tuple[Any, Any]:
    """Return a figure of so many inches and its axes, an array of shape (rows, columns)."""
    try:
        from matplotlib.figure import Figure
    except ModuleNotFoundError as error:
        needed = "figures are drawn with matplotlib: pip install 'forks-learn[plot]'"
        raise ModuleNotFoundError(needed, name=error.name) from error
    made = Figure(figsize=(width, height), dpi=140, layout="constrained")
    return made, made.subplots(rows, columns, squeeze=False, **options)


def finish(axes: Any, x: str, y: str) -> None:
    """Name the axes, and style them like those of all figures."""
    axes.set_xlabel(x, color=INK)
    axes.set_ylabel(y, color=INK)
    axes.grid(axis="y", color=FAINT, linewidth=0.5, alpha=0.6)
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)
    axes.spines[["left", "bottom"]].set_color(FAINT)
    axes.tick_params(which="both", colors=INK, length=0, labelsize=9)
    axes.legend(frameon=False, fontsize=9)


def millions(value: float, _: Any = None) -> str:
    """Format a tick: 2,500,000 as 2.5 M."""
    return f"{value / 1e6:,.3g} M"


def plain_ticks(axes: Any) -> None:
    """Write the numbers of logarithmic axes out: 1, 2, 5, 10 on y, the places of points on x."""
    from matplotlib.ticker import FixedLocator, LogLocator, NullLocator

    places = {float(x) for line in axes.lines for x in line.get_xdata()}
    axes.xaxis.set_major_locator(FixedLocator(sorted(places)))
    axes.yaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_formatter(lambda value, _: f"{value:g}")
        axis.set_minor_locator(NullLocator())
