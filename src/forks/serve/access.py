"""Who may do what: bearer tokens, of which only hashes are kept.

A file of tokens has a line for each: a role, the SHA-256 of the token in hexadecimal, and a name
for people. Roles include those before them: predict, learn, admin.
"""

import hashlib
import hmac
import re
import secrets
from enum import IntEnum
from pathlib import Path
from typing import NamedTuple


class Role(IntEnum):
    """What a token may do."""

    PREDICT = 1
    LEARN = 2
    ADMIN = 3


class Token(NamedTuple):
    """A line of the file."""

    role: Role
    digest: str
    name: str


class Access:
    """The tokens of a service; without any, everybody may do everything."""

    def __init__(self, tokens: list[Token]) -> None:
        self._tokens = tokens

    @classmethod
    def from_file(cls, path: Path) -> "Access":
        """Read a file of tokens; a fault is a `ValueError` with the line."""
        tokens = []
        for number, line in enumerate(path.read_text().splitlines(), 1):
            fields = line.split("#")[0].split()
            if not fields:
                continue
            roles = [role.name.lower() for role in Role]
            known = len(fields) in (2, 3) and fields[0] in roles
            if not (known and re.fullmatch("[0-9a-fA-F]{64}", fields[1])):
                raise ValueError(
                    f"{path}, line {number}: must have a role ({', '.join(roles)}), the SHA-256 "
                    "of a token and a name"
                )
            name = fields[2] if len(fields) == 3 else f"line {number}"
            tokens.append(Token(Role[fields[0].upper()], fields[1].lower(), name))
        if not tokens:
            raise ValueError(f"{path} has no tokens")
        return cls(tokens)

    @property
    def is_open(self) -> bool:
        """Whether no token is needed."""
        return not self._tokens

    def holder(self, given: str) -> Token | None:
        """Return whose token this is, after as many comparisons for every token."""
        digest = hashlib.sha256(given.encode()).hexdigest()
        found = None
        for token in self._tokens:
            if hmac.compare_digest(digest, token.digest):
                found = token
        return found


def new_token(role: str, name: str) -> tuple[str, str]:
    """Return a new token, and its line for the file."""
    token = secrets.token_urlsafe(32)
    return token, f"{role} {hashlib.sha256(token.encode()).hexdigest()} {name}"
