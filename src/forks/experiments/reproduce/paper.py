"""The numbers that the paper prints: mistake rates in % with their deviations, and seconds.

Table 1 (fixed budget) and the two tables under adversarial environments. The mistakes of stage
one are left out of those of NOGD, SkeGD and FORKS.
"""

from typing import NamedTuple


class Printed(NamedTuple):
    """One cell."""

    rate: float
    deviation: float
    seconds: float


_TABLE_1 = {
    "RBP": {
        "german": (38.830, 0.152, 0.003),
        "svmguide3": (29.698, 1.644, 0.003),
        "spambase": (35.461, 0.842, 0.025),
        "cod-rna": (22.644, 0.262, 0.210),
        "w7a": (5.963, 0.722, 0.945),
        "ijcnn1": (21.024, 0.578, 0.633),
    },
    "BPA-S": {
        "german": (35.235, 0.944, 0.004),
        "svmguide3": (29.027, 0.732, 0.004),
        "spambase": (34.394, 2.545, 0.039),
        "cod-rna": (17.029, 0.303, 0.313),
        "w7a": (3.001, 0.045, 1.145),
        "ijcnn1": (11.114, 0.064, 0.747),
    },
    "Projectron": {
        "german": (36.875, 1.403, 0.003),
        "svmguide3": (25.060, 0.373, 0.003),
        "spambase": (32.659, 0.914, 0.031),
        "cod-rna": (19.257, 4.688, 0.341),
        "w7a": (3.174, 0.014, 0.965),
        "ijcnn1": (9.478, 0.001, 0.621),
    },
    "BOGD": {
        "german": (33.705, 1.446, 0.007),
        "svmguide3": (29.904, 1.653, 0.006),
        "spambase": (32.859, 0.478, 0.049),
        "cod-rna": (17.305, 0.146, 0.507),
        "w7a": (3.548, 0.164, 0.970),
        "ijcnn1": (11.559, 0.174, 0.724),
    },
    "FOGD": {
        "german": (30.915, 0.845, 0.025),
        "svmguide3": (30.024, 0.787, 0.022),
        "spambase": (25.651, 0.349, 0.175),
        "cod-rna": (13.103, 0.105, 1.480),
        "w7a": (2.893, 0.053, 2.548),
        "ijcnn1": (9.674, 0.105, 3.125),
    },
    "NOGD": {
        "german": (26.715, 0.552, 0.014),
        "svmguide3": (19.964, 0.077, 0.008),
        "spambase": (31.003, 0.751, 0.077),
        "cod-rna": (17.915, 3.315, 0.869),
        "w7a": (2.579, 0.007, 2.004),
        "ijcnn1": (9.379, 0.001, 1.457),
    },
    "SkeGD": {
        "german": (25.170, 0.391, 0.009),
        "svmguide3": (19.976, 0.105, 0.007),
        "spambase": (32.413, 1.886, 0.067),
        "cod-rna": (13.274, 0.262, 0.779),
        "w7a": (2.706, 0.335, 2.093),
        "ijcnn1": (11.898, 1.440, 2.216),
    },
    "PROS-N-KONS": {
        "german": (31.235, 0.939, 1.017),
        "svmguide3": (24.529, 0.561, 0.015),
        "spambase": (32.227, 0.678, 6.638),
        "cod-rna": (13.387, 0.289, 114.983),
        "w7a": (3.016, 0.007, 92.377),
        "ijcnn1": (9.455, 0.001, 5.000),
    },
    "FORKS": {
        "german": (26.425, 0.562, 0.008),
        "svmguide3": (19.710, 0.557, 0.009),
        "spambase": (30.662, 0.670, 0.070),
        "cod-rna": (12.795, 0.360, 0.918),
        "w7a": (2.561, 0.038, 2.240),
        "ijcnn1": (9.381, 0.001, 2.480),
    },
}

_ADVERSARIAL = {  # by the number of repeats r
    "BOGD": {
        ("cod-rna", 10): (26.066, 1.435, 0.029),
        ("german", 10): (32.131, 1.079, 0.042),
        ("cod-rna", 20): (14.745, 0.063, 0.043),
        ("german", 20): (21.290, 0.918, 0.060),
    },
    "NOGD": {
        ("cod-rna", 10): (29.780, 1.257, 0.024),
        ("german", 10): (28.103, 1.247, 0.040),
        ("cod-rna", 20): (19.977, 1.536, 0.041),
        ("german", 20): (16.527, 0.810, 0.056),
    },
    "SkeGD": {
        ("cod-rna", 10): (24.649, 5.087, 0.269),
        ("german", 10): (11.026, 4.018, 0.113),
        ("cod-rna", 20): (15.829, 2.583, 0.203),
        ("german", 20): (5.742, 2.647, 0.077),
    },
    "PROS-N-KONS": {
        ("cod-rna", 10): (21.299, 1.364, 3.323),
        ("german", 10): (17.174, 1.437, 0.477),
        ("cod-rna", 20): (15.430, 2.315, 20.612),
        ("german", 20): (11.187, 1.782, 1.144),
    },
    "FORKS": {
        ("cod-rna", 10): (6.752, 1.647, 0.023),
        ("german", 10): (5.142, 0.215, 0.035),
        ("cod-rna", 20): (4.127, 0.769, 0.039),
        ("german", 20): (2.960, 0.185, 0.050),
    },
}

DRIVERS_SIZES = ", driver's sizes"  # ends the name of a method with the sizes of the code
FLOORED = (
    ", small values 0"  # ends that of one with the kernel of `forks.experiments.reproduce.floored`
)
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
    method = plain_name(method)
    if repeats:
        cell = _ADVERSARIAL.get(method, {}).get((data, repeats))
    else:
        cell = _TABLE_1.get(method, {}).get(data)
    return None if cell is None else Printed(*cell)
