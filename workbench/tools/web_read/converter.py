"""Converts HTML and PDF to text in a separate process, which can be ended at any time: both may be hostile.

The process also keeps the libraries and their memory out of the engine.

`python -m workbench.tools.web_read.converter KIND PART CHARSET URL`: the document on stdin, JSON on stdout.
"""

from __future__ import annotations

import contextlib
import json
import logging
import re
import resource
import sys
import time
from io import BytesIO
from typing import TYPE_CHECKING, Any
from urllib.parse import urljoin

from workbench.lazy_pattern import lazy_pattern

if TYPE_CHECKING:
    from bs4 import BeautifulSoup, Tag
    from pypdf import PdfReader

_MEMORY = 1_500_000_000
_SECONDS = 60
_HTML = 4_000_000
"""The most bytes of HTML that are read."""
_TEXT = 2_000_000
"""The most characters of text that are returned."""
_PDF_TIME = 20.0
_LINK = lazy_pattern(r"(?:https?:|mailto:)", re.IGNORECASE)


def html_text(content: bytes, part: str, charset: str, url: str) -> dict[str, Any]:
    """Return the title, Markdown and notes of a page."""
    from bs4 import BeautifulSoup

    from workbench.tools.web_read.main_content import main_content, without_unseen

    soup = BeautifulSoup(content[:_HTML], "html.parser", from_encoding=charset or None)
    title = soup.title.get_text(" ", strip=True) if soup.title else ""
    _resolve_urls(soup, url)
    body = without_unseen(soup)
    chosen = main_content(body) if part == "main" else body
    notes = ["only the start of its source was read"] if len(content) > _HTML else []
    return {"title": title, "text": _markdown(chosen), "notes": notes}


def _resolve_urls(soup: BeautifulSoup, url: str) -> None:
    """Make URLs of links and images absolute; remove those that run code or point into the page."""
    base = soup.find("base", href=True)
    with contextlib.suppress(ValueError):
        url = urljoin(url, str(base["href"])) if base is not None else url
    for tag, name in (("a", "href"), ("img", "src")):
        for element in soup.find_all(tag):
            attribute = str(element.get(name) or "").strip()
            try:
                target = urljoin(url, attribute)
            except ValueError:
                target = ""
            if attribute and _LINK.match(target) and not attribute.startswith("#"):
                element[name] = target
            elif tag == "img":
                element.replace_with(str(element.get("alt") or ""))
            else:
                element.unwrap()


def _markdown(chosen: Tag) -> str:
    from markdownify import MarkdownConverter

    converter = MarkdownConverter(
        heading_style="ATX",
        bullets="-",
        escape_asterisks=False,
        escape_underscores=False,
        escape_misc=False,
        table_infer_header=True,
        code_language_callback=_language,
    )
    try:
        text = str(converter.convert_soup(chosen))
    except RecursionError:  # nested deeper than any page written by hand
        text = chosen.get_text("\n", strip=True)
    text = "\n".join(line.rstrip(" \t") for line in text.split("\n"))
    return re.sub(r"\n{3,}", "\n\n", text).strip()


def _language(block: Tag) -> str:
    """Return the language of a code block from its CSS class, which most pages use; empty if there is none."""
    inside = block.find("code")
    classes = [*(block.get("class") or ()), *((inside.get("class") or ()) if inside else ())]
    matches = (re.fullmatch(r"(?:language|lang|highlight-source)-([\w+#.-]{1,20})", str(name)) for name in classes)
    return next((match[1] for match in matches if match), "")


def pdf_text(content: bytes) -> dict[str, Any]:
    """Return the title, text and notes of a PDF, or an error."""
    from pypdf import PdfReader

    logging.disable(logging.CRITICAL)
    pages: list[str] = []
    try:
        reader = PdfReader(BytesIO(content))
        if reader.is_encrypted and not reader.decrypt(""):
            return {"error": "the PDF needs a password."}
        title = str((reader.metadata.title if reader.metadata else "") or "")
        notes = _read_pages(reader, pages)
    except Exception as error:  # noqa: BLE001 - a broken document may raise anything
        if not pages:
            return {"error": f"the PDF cannot be read ({type(error).__name__}: {str(error)[:100]})."}
        title, notes = "", [f"page {len(pages) + 1} of the PDF cannot be read, nor what follows"]
    has_text = any(page.partition("]\n")[2] for page in pages)
    return {"title": title, "text": "\n\n".join(pages) if has_text else "", "notes": notes}


def _read_pages(reader: PdfReader, pages: list[str]) -> list[str]:
    """Append the text of each page to `pages`; return a note if pages were omitted."""
    until = time.monotonic() + _PDF_TIME
    count, size = len(reader.pages), 0
    for number, page in enumerate(reader.pages, 1):
        pages.append(f"[page {number} of {count}]\n{page.extract_text().strip()}")
        size += len(pages[-1])
        if number < count and (time.monotonic() > until or size > _TEXT):
            return [f"only the first {number} of {count} pages of the PDF were read"]
    return []


def main(kind: str, part: str, charset: str, url: str) -> None:
    """Convert the document on standard input and print the result as JSON."""
    resource.setrlimit(resource.RLIMIT_CPU, (_SECONDS, _SECONDS))
    with contextlib.suppress(ValueError, OSError):  # not supported everywhere
        resource.setrlimit(resource.RLIMIT_AS, (_MEMORY, _MEMORY))
    sys.setrecursionlimit(5_000)
    content = sys.stdin.buffer.read()
    try:
        result = pdf_text(content) if kind == "pdf" else html_text(content, part, charset, url)
    except MemoryError:
        result = {"error": "it needs more memory than it may have."}
    result["text"] = str(result.get("text", ""))[:_TEXT]
    sys.stdout.write(json.dumps(result))


if __name__ == "__main__":
    main(*sys.argv[1:5])
