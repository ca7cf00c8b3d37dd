"""Recognizes an API key that was pasted where something else belongs, such as the name of a model or a URL."""

from __future__ import annotations

from typing import Final

from workbench.lazy_pattern import lazy_pattern
from workbench.secrets.masker import SecretMasker

_SHAPES: Final = SecretMasker()
_DOTS: Final = lazy_pattern("•+")
_RANDOM: Final = lazy_pattern(
    r"(?<![\w/-])(?:[A-Za-z]{2,6}[-_])?(?=[A-Za-z]*\d)(?=\d*[A-Za-z])[A-Za-z0-9]{32,}(?![\w/-])"
)
"""A long word of letters and digits: some providers' keys have no other mark, and no model has such a name."""


def split_key(text: str) -> tuple[str, str]:
    """Return the API key that the text contains, and the text without it; the key is empty if there is none.

    The password in the URL of a proxy (`user:password@host`) is not a key.
    """
    dotted = _SHAPES.dotted(text)
    covered = [match for match in _DOTS.finditer(dotted) if text[match.end() : match.end() + 1] != "@"]
    match = covered[0] if covered and "•" not in text else _RANDOM.search(text)
    if match is None:
        return "", text
    before = text[: match.start()]
    rest = before.partition("?")[0] if "://" in before else before + text[match.end() :]
    return text[match.start() : match.end()], rest.strip()
