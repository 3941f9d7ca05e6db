"""The numbers that the paper prints: mistake rates in %, their deviations, and seconds.

Table 1 (fixed budget), and the two tables under adversarial environments, whose columns are named
by the data and the number of repeats. The mistakes of stage one are left out of those of NOGD,
SkeGD and FORKS.
"""

from typing import NamedTuple


class Printed(NamedTuple):
    """One cell."""

    rate: float
    deviation: float
    seconds: float


_TABLES = """
              german               svmguide3            spambase
RBP           38.830 0.152 0.003   29.698 1.644 0.003   35.461 0.842 0.025
BPA-S         35.235 0.944 0.004   29.027 0.732 0.004   34.394 2.545 0.039
Projectron    36.875 1.403 0.003   25.060 0.373 0.003   32.659 0.914 0.031
BOGD          33.705 1.446 0.007   29.904 1.653 0.006   32.859 0.478 0.049
FOGD          30.915 0.845 0.025   30.024 0.787 0.022   25.651 0.349 0.175
NOGD          26.715 0.552 0.014   19.964 0.077 0.008   31.003 0.751 0.077
SkeGD         25.170 0.391 0.009   19.976 0.105 0.007   32.413 1.886 0.067
PROS-N-KONS   31.235 0.939 1.017   24.529 0.561 0.015   32.227 0.678 6.638
FORKS         26.425 0.562 0.008   19.710 0.557 0.009   30.662 0.670 0.070

              cod-rna                w7a                   ijcnn1
RBP           22.644 0.262   0.210   5.963 0.722  0.945    21.024 0.578 0.633
BPA-S         17.029 0.303   0.313   3.001 0.045  1.145    11.114 0.064 0.747
Projectron    19.257 4.688   0.341   3.174 0.014  0.965     9.478 0.001 0.621
BOGD          17.305 0.146   0.507   3.548 0.164  0.970    11.559 0.174 0.724
FOGD          13.103 0.105   1.480   2.893 0.053  2.548     9.674 0.105 3.125
NOGD          17.915 3.315   0.869   2.579 0.007  2.004     9.379 0.001 1.457
SkeGD         13.274 0.262   0.779   2.706 0.335  2.093    11.898 1.440 2.216
PROS-N-KONS   13.387 0.289 114.983   3.016 0.007 92.377     9.455 0.001 5.000
FORKS         12.795 0.360   0.918   2.561 0.038  2.240     9.381 0.001 2.480

              cod-rna/10           german/10            cod-rna/20            german/20
BOGD          26.066 1.435 0.029   32.131 1.079 0.042   14.745 0.063  0.043   21.290 0.918 0.060
NOGD          29.780 1.257 0.024   28.103 1.247 0.040   19.977 1.536  0.041   16.527 0.810 0.056
SkeGD         24.649 5.087 0.269   11.026 4.018 0.113   15.829 2.583  0.203    5.742 2.647 0.077
PROS-N-KONS   21.299 1.364 3.323   17.174 1.437 0.477   15.430 2.315 20.612   11.187 1.782 1.144
FORKS          6.752 1.647 0.023    5.142 0.215 0.035    4.127 0.769  0.039    2.960 0.185 0.050
"""


def _cells(tables: str) -> dict[tuple[str, str], Printed]:
    cells = {}
    columns: list[str] = []
    for line in filter(None, tables.splitlines()):
        if line.startswith(" "):
            columns = line.split()
            continue
        method, *numbers = line.split()
        for i, column in enumerate(columns):
            cells[method, column] = Printed(*map(float, numbers[3 * i : 3 * i + 3]))
    return cells


CELLS = _cells(_TABLES)
METHODS = tuple(dict.fromkeys(method for method, _ in CELLS))  # in the order of table 1
DRIVERS_SIZES = ", driver's sizes"  # ends the name of a method with the sizes of the code
FLOORED = ", small values 0"  # ends that of one with `forks.experiments.reproduce.runs.SINGLE`
WITHOUT_CHANCE = ("BPA-S", "Projectron", "NOGD")  # one order of the rows, one number of mistakes


def plain_name(method: str) -> str:
    """Return the name of a method in the paper's tables."""
    return method.removesuffix(DRIVERS_SIZES).removesuffix(FLOORED)


def authors_bandwidth(method: str, repeats: int = 0) -> float:
    """Return the bandwidth that the authors' drivers have for a method."""
    is_wide = plain_name(method) in ("SkeGD", "FORKS")
    return 50.0 if is_wide or repeats else 8.0


def printed(method: str, data: str, repeats: int = 0) -> Printed | None:
    """Return the paper's cell for a method on a data set, if it has one."""
    return CELLS.get((plain_name(method), f"{data}/{repeats}" if repeats else data))
