"""`python -m forks.cli`."""

from forks.cli import main

if __name__ == "__main__":
    main()
