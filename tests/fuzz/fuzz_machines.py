"""Play the state machines for long, and print what was played: a part of `make fuzz`."""

import argparse

from hypothesis import HealthCheck, settings
from hypothesis.stateful import run_state_machine_as_test
from machines import COUNTS, KINDS, Machine


def main() -> None:
    """Play machines of every kind; one that fails ends the run with the calls that lead there."""
    parser = argparse.ArgumentParser(description="Call estimators in any order.")
    parser.add_argument("--machines", type=int, default=30, help="of each kind")
    parser.add_argument("--steps", type=int, default=50, help="of a machine, at most")
    parser.add_argument("--kind", choices=list(KINDS))
    options = parser.parse_args()
    long = settings(
        max_examples=options.machines,
        stateful_step_count=options.steps,
        deadline=None,
        database=None,
        print_blob=True,
        suppress_health_check=list(HealthCheck),
    )
    for kind in [options.kind] if options.kind else KINDS:
        steps = COUNTS["steps"]
        one = type("One", (Machine,), {"kinds": (kind,)})
        run_state_machine_as_test(one, settings=long)
        print(f"{kind:<22}{COUNTS['steps'] - steps:>10,} steps", flush=True)
    print()
    for name, count in COUNTS.most_common():
        print(f"{name:<22}{count:>10,}")


if __name__ == "__main__":
    main()
