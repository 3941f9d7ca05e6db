"""`python -m forks`: the command line."""

from forks.cli import main

if __name__ == "__main__":
    main(prog_name="forks")
