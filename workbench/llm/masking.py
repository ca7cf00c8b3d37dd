"""Takes keys and passwords out of what a provider says before a person sees it; used by `client` and `faults`."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator

_LIKE_A_KEY = re.compile(r"(?i)\b(?:sk|pk|key|token|gsk|xai|AIza)[-_][\w*.-]{6,}|AIza[\w-]{10,}|bearer\s+\S+")
_NAMES_A_SECRET = re.compile(r"(?i)(?:keys?|token|secret|pass(?:word|wd|phrase)?|pwd|bearer|cookie|auth|credentials?)$")
_SHORTEST = 6


def masked(text: str, api_key: str | None = None) -> str:
    """The text without the key given, without the keys of the environment, and without what looks like one."""
    for secret in sorted({api_key or "", *_of_environment()}, key=len, reverse=True):
        if len(secret) >= _SHORTEST:
            text = text.replace(secret, "…")
    return _LIKE_A_KEY.sub("…", text)


def _of_environment() -> Iterator[str]:
    return (value.strip() for name, value in os.environ.items() if _NAMES_A_SECRET.search(name))
