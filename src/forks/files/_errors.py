"""The one error about a file that is not what it should be."""


class ModelFileError(ValueError):
    """A model file that cannot be loaded; the message names the file and the reason."""
