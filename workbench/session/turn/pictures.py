"""The pictures of messages and results in the form a provider takes; used by `history`."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from workbench.llm.model import Message

_PICTURE = re.compile(r"data:image/(?:png|jpeg|gif|webp);base64,[A-Za-z0-9+/]+={0,2}")


def pictures_of(observation: dict[str, Any]) -> list[dict[str, Any]]:
    """The pictures of a tool's result."""
    blocks = observation.get("content")
    pictures = [
        f"data:{block.get('mime_type', 'image/png')};base64,{block.get('data', '')}"
        for block in (blocks if isinstance(blocks, list | tuple) else ())
        if isinstance(block, dict) and block.get("type") == "image"
    ]
    return shown(pictures)


def with_pictures(text: str, urls: Iterable[str]) -> Message:
    """A message of the person's with the pictures behind its text."""
    pictures = shown(urls)
    return {"role": "user", "content": [{"type": "text", "text": text}, *pictures] if pictures else text}


def shown(urls: Iterable[str]) -> list[dict[str, Any]]:
    """The pictures a provider takes; a request with any other would be refused as a whole."""
    return [{"type": "image_url", "image_url": {"url": url}} for url in urls if _PICTURE.fullmatch(url)]
