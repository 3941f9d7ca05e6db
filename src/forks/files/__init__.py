"""Files that hold what was learned: written whole or not at all, and read without trust."""

from forks.files._atomic import remove_temporary, replacing, write_atomically
from forks.files._container import pack, unpack
from forks.files._errors import ModelFileError, cannot_load
from forks.files._parts import decode, encode

__all__ = [
    "ModelFileError",
    "cannot_load",
    "decode",
    "encode",
    "pack",
    "remove_temporary",
    "replacing",
    "unpack",
    "write_atomically",
]
