"""The command line: `forks`, and `python -m forks`."""

import sys


def main() -> None:
    """Run the command line; Ctrl-C ends it quietly also while its modules are imported."""
    try:
        from forks.cli import main as command

        command(prog_name="forks")
    except KeyboardInterrupt:
        sys.exit(130)


if __name__ == "__main__":
    main()
