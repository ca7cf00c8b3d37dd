"""What kind of document an answer is: by what the server says and, where that says nothing, by how it begins."""

from __future__ import annotations

import codecs
import hashlib
import json
import re
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Literal, TypeAlias

from workbench.tools.blob_store import BlobStore

Kind: TypeAlias = Literal["html", "pdf", "text"]

_TEXTS = re.compile(
    r"text/.+|.+\+(?:json|xml|yaml)"
    r"|application/(?:json|xml|yaml|x-yaml|toml|javascript|x-javascript|ecmascript|x-sh|sql|graphql|x-ndjson|rtf)"
)
_HTML = re.compile(rb"<(?:!doctype\s+html|html|head|body)\b", re.IGNORECASE)
_UNSAID = {"", "application/octet-stream", "binary/octet-stream", "application/x-download"}
_MARKS = ((codecs.BOM_UTF8, "utf-8-sig"), (codecs.BOM_UTF16_LE, "utf-16"), (codecs.BOM_UTF16_BE, "utf-16"))


def kind_of(content_type: str, content: bytes) -> Kind | None:
    """The kind; None for what is no text."""
    said = content_type.partition(";")[0].strip().lower()
    if said in ("text/html", "application/xhtml+xml"):
        return "html"
    if said in ("application/pdf", "application/x-pdf"):
        return "pdf"
    if _TEXTS.fullmatch(said):
        return "text"
    return _looked_at(content[:2_000]) if said in _UNSAID else None


def _looked_at(head: bytes) -> Kind | None:
    if head.startswith(b"%PDF-"):
        return "pdf"
    if _HTML.match(_without_comments(head)):
        return "html"
    return None if b"\0" in head and not head.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)) else "text"


def _without_comments(head: bytes) -> bytes:
    """From the first tag on. Step by step: one expression for all would try every way to part them."""
    rest = head.lstrip()
    while rest.startswith(b"<!--"):
        end = rest.find(b"-->", 4)
        if end < 0:
            return b""
        rest = rest[end + 3 :].lstrip()
    return rest


def charset_of(content_type: str) -> str:
    """The charset that the server says, if it is one."""
    found = re.search(r"charset\s*=\s*[\"']?([\w.:-]{1,40})", content_type, re.IGNORECASE)
    try:
        return codecs.lookup(found[1]).name if found else ""
    except LookupError:
        return ""


def decoded(content: bytes, charset: str) -> str:
    """A plain text: by its mark, what the server says, UTF-8, or else as most old texts are."""
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
    """Whether it is UTF-8 but for a sign that was cut at its end."""
    decoder = codecs.getincrementaldecoder("utf-8")()
    try:
        decoder.decode(content)
    except UnicodeDecodeError:
        return False
    return True


PAGE = 16_000
"""Characters of one part at most."""
_LEAST = 8_000
_ENDS = ("\n\n", "\n", " ")
"""Where a part may end, the best first."""


@dataclass(frozen=True)
class Document:
    """A text from the web with what is to be known about it; `notes` are lines about what is missing."""

    url: str
    title: str
    kind: str
    text: str
    status: int = 200
    notes: tuple[str, ...] = ()


class Shelf:
    """The documents of one session; one that cannot be kept or read back is fetched again."""

    def __init__(self, folder: Path | None) -> None:
        self._kept = BlobStore(folder)

    def put(self, url: str, part: str, document: Document) -> None:
        """Keep what was found under that address."""
        try:
            self._kept.put(_name(url, part), json.dumps(asdict(document)).encode())
        except OSError:
            return

    def get(self, url: str, part: str) -> Document | None:
        """What was found there."""
        raw = self._kept.get(_name(url, part))
        try:
            found = json.loads(raw) if raw else None
            return Document(**{**found, "notes": tuple(found["notes"])}) if found else None
        except (ValueError, TypeError, KeyError):
            return None


def _name(url: str, part: str) -> str:
    return f"web/{hashlib.sha256(f'{part} {url}'.encode(errors='surrogatepass')).hexdigest()[:32]}"


def parts_of(text: str) -> list[str]:
    """The text in parts of at most PAGE characters, cut between paragraphs, lines or words where there are any."""
    parts = []
    while len(text) > PAGE:
        found = (text.rfind(end, _LEAST, PAGE) for end in _ENDS)
        cut = next((at for at in found if at > 0), PAGE)
        parts.append(text[:cut].rstrip())
        text = text[cut:].lstrip("\n")
    return [*parts, text] if text or not parts else parts
