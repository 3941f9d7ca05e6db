"""The one error about a file that is not what it should be."""

_LONGEST = 400  # characters of a reason: a file could hold words without end


class ModelFileError(ValueError):
    """A model file that cannot be loaded; the message names the file and the reason."""


def cannot_load(name: str, reason: str) -> ModelFileError:
    """Make the error: the file's name, and a reason that is one short line whatever it quotes."""
    if len(reason) > _LONGEST:
        reason = f"{reason[:_LONGEST]} ..."
    plain = reason if reason.isprintable() else ascii(reason)[1:-1]
    return ModelFileError(f"{name} cannot be loaded: {plain}")
