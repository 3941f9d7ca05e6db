"""Files that hold what was learned: written whole or not at all, and read without trust."""

from forks.files.atomic import remove_temporary, replacing, sync, sync_folder, write_atomically
from forks.files.codec import decode, encode
from forks.files.container import ModelFileError, loading, pack, unpack
from forks.files.large import Blocks, LargeFile, write_large

__all__ = [
    "Blocks",
    "LargeFile",
    "ModelFileError",
    "decode",
    "encode",
    "loading",
    "pack",
    "remove_temporary",
    "replacing",
    "sync",
    "sync_folder",
    "unpack",
    "write_atomically",
    "write_large",
]
