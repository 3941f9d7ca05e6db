"""Data sets by name: where they are, how they are fetched and read."""
