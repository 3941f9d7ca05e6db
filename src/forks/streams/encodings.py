"""Text of any encoding as UTF-8, piece by piece."""

import codecs

_BOMS = {
    codecs.BOM_UTF32_LE: "utf-32-le",  # before UTF-16, whose mark it begins with
    codecs.BOM_UTF32_BE: "utf-32-be",
    codecs.BOM_UTF16_LE: "utf-16-le",
    codecs.BOM_UTF16_BE: "utf-16-be",
}
_UTF_8 = "utf-8"
# First bytes of what is no text, and the ending that a name must have to be unpacked.
_PACKED = {b"\x1f\x8b": (".gz", "gzip"), b"BZh": (".bz2", "bzip2"), b"\xfd7zXZ": (".xz", "xz")}
FALLBACK = "cp1252"  # of files that are neither UTF-8 nor marked: Windows, and nearly Latin-1


class Transcoder:
    """Turns the bytes of a text into UTF-8.

    With `encoding` None it is found: by a byte order mark, else UTF-8, or Windows-1252 if the
    first bytes that are not ASCII are not UTF-8. `encoding` is what was found so far.
    """

    def __init__(self, encoding: str | None = _UTF_8) -> None:
        self.told = encoding is not None
        self.encoding = _UTF_8 if encoding is None else codecs.lookup(encoding).name
        self._begun = False
        self._ascii = True  # so far
        self._rest = b""  # the beginning of a character
        self._faulty = False
        self._decoder = None if self.encoding == _UTF_8 else self._decoder_of(self.encoding)

    @staticmethod
    def _decoder_of(encoding: str) -> codecs.IncrementalDecoder:
        return codecs.getincrementaldecoder(encoding)()

    def feed(self, raw: bytes, last: bool) -> bytes:
        """Return the text of the next bytes, or `UnicodeError` once all before it was returned."""
        if self._faulty:
            raise UnicodeError(f"what follows is not {self.encoding.upper()} text")
        raw, self._rest = self._rest + raw, b""
        if not self._begun:
            if len(raw) < 4 and not last:
                self._rest = raw
                return b""
            raw = self._without_mark(raw)
        if self._decoder is not None:
            return self._decoded(raw, last)
        return raw if raw.isascii() else self._checked(raw, last)

    def _decoded(self, raw: bytes, last: bool) -> bytes:
        assert self._decoder is not None
        try:
            return self._decoder.decode(raw, last).encode()
        except UnicodeDecodeError:
            names = ([] if self.told else [_UTF_8]) + [self.encoding]
            text = " or ".join(map(str.upper, names))
            raise UnicodeError(f"what follows is not {text} text") from None

    def _without_mark(self, raw: bytes) -> bytes:
        self._begun = True
        for magic, (ending, name) in _PACKED.items():
            if raw.startswith(magic):
                raise UnicodeError(
                    f"it is compressed by {name}: unpack it, or let its name end in {ending}"
                )
        if raw.startswith(codecs.BOM_UTF8) and self.encoding == _UTF_8:
            return raw[len(codecs.BOM_UTF8) :]
        for mark, encoding in _BOMS.items():
            if raw.startswith(mark) and (not self.told or self.encoding[:6] == encoding[:6]):
                self.encoding, self._decoder = encoding, self._decoder_of(encoding)
                return raw[len(mark) :]
        return raw

    def _checked(self, raw: bytes, last: bool) -> bytes:
        try:
            raw.decode()
        except UnicodeDecodeError as error:
            good = raw[: error.start]
            if error.end == len(raw) and not last and "end of data" in error.reason:
                self._rest = raw[error.start :]
                self._ascii = self._ascii and good.isascii()
                return good
            if self.told or not (self._ascii and good.isascii()):
                self._faulty = True
                return good
            self.encoding, self._decoder = FALLBACK, self._decoder_of(FALLBACK)
            return good + self._decoded(raw[error.start :], last)
        self._ascii = False
        return raw
