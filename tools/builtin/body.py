"""Reading a response's body and its text, never more of either than asked for."""

import codecs
import re
import zlib
from typing import Final

import httpx2

from tools.errors import HardToolError, SoftToolError

_GZIP = 16 + zlib.MAX_WBITS
_GZIP_MARK = b"\x1f"
_PACKED: Final = frozenset({"gzip", "x-gzip"})
_TEXT_TYPES = re.compile(
    r"text/.*|application/(?:.*\+)?(?:json|xml|yaml|javascript|ecmascript)"
    r"|application/(?:x-)?(?:ndjson|jsonlines|yaml|javascript|sh|toml|sql|csv|www-form-urlencoded)|image/svg\+xml"
)
_CHARSET = re.compile(r"charset\s*=\s*[\"']?\s*([\w.:-]+)", re.IGNORECASE)
_META_CHARSET = re.compile(
    rb"<meta[^>]{0,200}?charset\s*=\s*[\"']?\s*([\w.:-]+)|<\?xml[^>]{0,100}?encoding=[\"']([\w.:-]+)"
)
_HEAD_BYTES = 2048
_MARKS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
# Of Python's codecs these alone read what pages are written in; some of the others take forever.
_ENCODINGS = re.compile(
    r"utf-8|utf-16(?:-[lb]e)?|ascii|iso8859-\d+|cp125\d|gb\w*|big5\w*|euc_\w+|shift_jis\w*|cp9\d\d|koi8-\w|iso2022_\w+"
)
_WIDER = {"ascii": "cp1252", "iso8859-1": "cp1252", "gb2312": "gb18030", "gbk": "gb18030"}


async def read_body(response: httpx2.Response, most: int) -> tuple[bytes, bool]:
    """Return the body, unpacked, and whether it is cut off.

    Args:
        response: An answer whose body was not read yet.
        most: Bytes to read, counted as they come and again after unpacking.

    Raises:
        HardToolError: "unknown_encoding" for another packing than gzip.
        SoftToolError: What came is not what the server said it packed.
    """
    packing = response.headers.get("Content-Encoding", "").strip().lower()
    if packing not in _PACKED | {"", "identity"}:
        raise HardToolError(
            "unknown_encoding", f"the page is packed as {packing!r}; only gzip can be unpacked"
        )
    unpacker = _Unpacker(most) if packing in _PACKED else _Taker(most)
    async for chunk in response.aiter_raw():
        unpacker.feed(chunk)
        if unpacker.full:
            return bytes(unpacker.taken[:most]), True
    unpacker.end()
    return bytes(unpacker.taken), False


class _Taker:
    """Takes bytes as they are, and one more than allowed at most, to know that there are more."""

    def __init__(self, most: int) -> None:
        self.most = most
        self.taken = bytearray()

    @property
    def full(self) -> bool:
        return len(self.taken) > self.most

    def feed(self, chunk: bytes) -> None:
        self.taken += chunk[: self.most + 1 - len(self.taken)]

    def end(self) -> None:
        """Bytes as they are can end anywhere."""


class _Unpacker(_Taker):
    """Unpacks gzip, no further than allowed, however much a few bytes stand for."""

    def __init__(self, most: int) -> None:
        super().__init__(most)
        self._came = 0
        self._part = zlib.decompressobj(_GZIP)

    @property
    def full(self) -> bool:
        return super().full or self._came > self.most

    def feed(self, chunk: bytes) -> None:
        self._came += len(chunk)
        while chunk and not self.full:
            if self._part.eof:  # a body may be several gzip files one after the other, and then padding
                if not chunk.startswith(_GZIP_MARK):
                    return
                self._part = zlib.decompressobj(_GZIP)
            try:
                self.taken += self._part.decompress(chunk, self.most + 1 - len(self.taken))
            except zlib.error as error:
                raise SoftToolError(f"the page came damaged: {error}") from None
            chunk = self._part.unused_data or self._part.unconsumed_tail

    def end(self) -> None:
        if self._came and not self._part.eof:
            raise SoftToolError("the page came incomplete: its packed form has no end")


def text_of(content_type: str, body: bytes, *, truncated: bool) -> str:
    """Return a page's text; what cannot be read in its encoding becomes U+FFFD.

    Args:
        content_type: The header's value, "" where there is none.
        body: The page.
        truncated: Whether it is cut off, perhaps within a character.

    Raises:
        HardToolError: "not_text".
    """
    kind = content_type.partition(";")[0].strip().lower()
    if (kind and not _TEXT_TYPES.fullmatch(kind)) or (not kind and b"\0" in body):
        raise HardToolError(
            "not_text", f"the page is no text but {kind or 'binary data'}; only texts can be fetched"
        )
    decoder = codecs.getincrementaldecoder(_encoding(content_type, body))(errors="replace")
    return decoder.decode(body, final=not truncated)


def _encoding(content_type: str, body: bytes) -> str:
    marked = [name for mark, name in _MARKS if body.startswith(mark)]
    stated = _CHARSET.search(content_type)
    inside = None if stated else _META_CHARSET.search(body[:_HEAD_BYTES])
    if marked:
        return marked[0]
    if stated:
        return _known(stated[1])
    return _known((inside[1] or inside[2]).decode("ascii")) if inside else "utf-8"


def _known(label: str) -> str:
    try:
        name = codecs.lookup(label).name
    except LookupError:
        return "utf-8"
    return _WIDER.get(name, name) if _ENCODINGS.fullmatch(name) else "utf-8"
