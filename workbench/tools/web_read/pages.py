"""Documents from the web: their kind and charset, their storage for the session, and their division into parts."""

from __future__ import annotations

import codecs
import hashlib
import json
import re
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Literal, TypeAlias

from workbench.lazy_pattern import lazy_pattern
from workbench.tools.blob_store import BlobStore

Kind: TypeAlias = Literal["html", "pdf", "text"]

_TEXT_TYPES = lazy_pattern(
    r"text/.+|.+\+(?:json|xml|yaml)"
    r"|application/(?:json|xml|yaml|x-yaml|toml|javascript|x-javascript|ecmascript|x-sh|sql|graphql|x-ndjson|rtf)"
)
_HTML = lazy_pattern(rb"<(?:!doctype\s+html|html|head|body)\b", re.IGNORECASE)
_UNSAID = {"", "application/octet-stream", "binary/octet-stream", "application/x-download"}
_MARKS = ((codecs.BOM_UTF8, "utf-8-sig"), (codecs.BOM_UTF16_LE, "utf-16"), (codecs.BOM_UTF16_BE, "utf-16"))


def kind_of(content_type: str, content: bytes) -> Kind | None:
    """Return the kind by the content type, or else by the first bytes; None if it cannot be read as text."""
    media_type = content_type.partition(";")[0].strip().lower()
    if media_type in ("text/html", "application/xhtml+xml"):
        return "html"
    if media_type in ("application/pdf", "application/x-pdf"):
        return "pdf"
    if _TEXT_TYPES.fullmatch(media_type):
        return "text"
    return _sniffed(content[:2_000]) if media_type in _UNSAID else None


def _sniffed(head: bytes) -> Kind | None:
    if head.startswith(b"%PDF-"):
        return "pdf"
    if _HTML.match(_without_comments(head)):
        return "html"
    return None if b"\0" in head and not head.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)) else "text"


def _without_comments(head: bytes) -> bytes:
    """Return the content without leading space and comments; empty if a comment does not end.

    This is a loop, because one regular expression would backtrack too much.
    """
    rest = head.lstrip()
    while rest.startswith(b"<!--"):
        end = rest.find(b"-->", 4)
        if end < 0:
            return b""
        rest = rest[end + 3 :].lstrip()
    return rest


def charset_of(content_type: str) -> str:
    """Return the charset in a Content-Type header; empty if there is none, or an unknown one."""
    match = re.search(r"charset\s*=\s*[\"']?([\w.:-]{1,40})", content_type, re.IGNORECASE)
    try:
        return codecs.lookup(match[1]).name if match else ""
    except LookupError:
        return ""


def decoded(content: bytes, charset: str) -> str:
    """Decode plain text by its byte order mark, the given charset, UTF-8, or Windows-1252, in this order."""
    for mark, name in _MARKS:
        if content.startswith(mark):
            return content.decode(name, "replace")
    for name in (charset, "utf-8"):
        try:
            return content.decode(name or "utf-8")
        except (UnicodeDecodeError, LookupError):
            continue
    return content.decode("utf-8" if _begins_as_utf8(content) else "cp1252", "replace")


def _begins_as_utf8(content: bytes) -> bool:
    """Return whether the content is UTF-8, possibly cut within its last character."""
    decoder = codecs.getincrementaldecoder("utf-8")()
    try:
        decoder.decode(content)
    except UnicodeDecodeError:
        return False
    return True


PAGE = 16_000
"""The most characters of one part."""
_LEAST = 8_000
_ENDS = ("\n\n", "\n", " ")
"""Strings at which a part may end, in order of preference."""


@dataclass(frozen=True)
class Document:
    """A text from the web with its metadata; `notes` are lines about parts that are missing."""

    url: str
    title: str
    kind: str
    text: str
    status: int = 200
    notes: tuple[str, ...] = ()


class DocumentStore:
    """The documents of one session; one that cannot be stored or read back is fetched again."""

    def __init__(self, directory: Path | None) -> None:
        self._blobs = BlobStore(directory)

    def put(self, url: str, part: str, document: Document) -> None:
        """Store a document under its URL and part; errors are ignored."""
        try:
            self._blobs.put(_name(url, part), json.dumps(asdict(document)).encode())
        except OSError:
            return

    def get(self, url: str, part: str) -> Document | None:
        """Return the stored document, or None."""
        raw = self._blobs.get(_name(url, part))
        try:
            data = json.loads(raw) if raw else None
            return Document(**{**data, "notes": tuple(data["notes"])}) if data else None
        except (ValueError, TypeError, KeyError):
            return None


def _name(url: str, part: str) -> str:
    return f"web/{hashlib.sha256(f'{part} {url}'.encode(errors='surrogatepass')).hexdigest()[:32]}"


def parts_of(text: str) -> list[str]:
    """Split the text into parts of at most PAGE characters, preferably between paragraphs, lines or words."""
    parts = []
    while len(text) > PAGE:
        offsets = (text.rfind(end, _LEAST, PAGE) for end in _ENDS)
        cut = next((at for at in offsets if at > 0), PAGE)
        parts.append(text[:cut].rstrip())
        text = text[cut:].lstrip("\n")
    return [*parts, text] if text or not parts else parts
