"""File formats of streams: one file each."""
