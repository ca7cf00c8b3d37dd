"""The masker of secrets: masks known values, and everything that has the shape of a key.

A mask is `‹secret NAME›`. Content hashes and ids are not masked, because the shape of a key includes its issuer's
prefix.
"""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from collections.abc import Set as AbstractSet
from functools import partial
from typing import Any
from urllib.parse import quote

from workbench.lazy_pattern import lazy_pattern
from workbench.secrets.assignments import SEPARATOR, lower_case, marks_in, settings_in
from workbench.secrets.manifests import values_in
from workbench.secrets.secret_names import holds_secret
from workbench.secrets.shape import LONG, Shape, Words, in_outline, outline, parts_of
from workbench.secrets.shapes import SHAPES, names_in

_SHORTEST = 8
_SHORTEST_FORM = 12
_LONGEST_WRAPPED = 40_000
"""The longest text, in characters, that is searched for values split over lines; tool outputs are shorter."""
_SIGN = lazy_pattern(r"[^\n]")
Cover = Callable[[str, str], str]
"""Returns the replacement for a secret, given its name and text."""
_MASK = lazy_pattern(r"‹secret [^›\n]{1,80}›")
_UNSHOWN = frozenset({"data", "mime_type", "type", "image_urls"})
"""Fields that are not masked: they contain no secrets, or images, which are not searched."""


class SecretMasker:
    """Masks known values by their names, and keys by their shape. Thread-safe."""

    def __init__(self) -> None:
        self._names: dict[str, str] = {}
        self._pattern: re.Pattern[str] | None = None
        self._forms: dict[str, str] = {}
        self._gates: tuple[tuple[str, Words], ...] = ()
        """Each value as it appears in an outline, with the part of the outline that contains it if the text contains
        the value.
        """

    @property
    def longest(self) -> int:
        """The length of the longest known value, in characters."""
        return max(map(len, self._names), default=0)

    @property
    def have_blanks(self) -> bool:
        """Whether a known value contains spaces."""
        return any(" " in value for value in self._names)

    def add(self, name: str, value: str | None) -> None:
        """Add a value; short ones, plain words and absolute paths are ignored, because they could occur anywhere."""
        value = (value or "").strip()
        if len(value) < _SHORTEST or value in self._names or value.isalpha() or value.startswith("/"):
            return
        names = {**self._names, value: name, quote(value, safe=""): name}
        pattern = re.compile("|".join(re.escape(text) for text in sorted(names, key=len, reverse=True)))
        self._forms = {**dict.fromkeys(_forms(value), name), **self._forms}
        self._gates = tuple((in_outline(max(text.splitlines(), key=len)), _part_for(text)) for text in names)
        self._names, self._pattern = names, pattern

    def add_all(self, env: Mapping[str, str]) -> None:
        """Add the values of variables whose names look like those of secrets."""
        for name, value in env.items():
            if holds_secret(name):
                self.add(name, value)

    def masked(self, text: str) -> str:
        """Return the text with each secret replaced by a mask."""
        return self._covered(text, lambda name, _: mask(name))

    def dotted(self, text: str) -> str:
        """Return the text with a dot in place of each character of a secret, so that offsets stay valid."""
        return self._covered(text, lambda _, secret: _SIGN.sub("•", secret))

    def may_stand_in(self, text: str) -> bool:
        """Return whether a text may contain a secret; False means that it certainly does not. Fast for long texts."""
        if any(value in text for value in (*self._names, *self._forms)):
            return True
        parts, names = _outlined(text)
        marks = marks_in(parts["every"].lower())
        if any(shape.may_stand_in(parts, marks, names) for shape in SHAPES):
            return True
        if _may_have_manifest(parts[""]) and any(values_in(text)):
            return True
        return bool(marks) and bool(settings_in(text, lower_case(text), marks))

    def may_stand_in_any(self, strings: Iterable[str]) -> bool:
        """Return whether any of the strings may contain a secret; False means that `masked` would change none of them.

        This is faster than masking each string, above all if they share lines.
        """
        text = SEPARATOR.join(strings)
        whole = "".join(text.split()) if self._names else ""
        return any("".join(value.split()) in whole for value in self._names) or self.may_stand_in(text)

    def _covered(self, text: str, cover: Cover) -> str:
        if len(text) < _SHORTEST:
            return text
        parts, names = _outlined(text)
        if self._pattern and any(value in parts[part] for value, part in self._gates):
            text = self._pattern.sub(lambda match: cover(self._names[match.group()], match.group()), text)
        text = self._without_forms(text, parts["encoded"], cover)
        if _may_have_manifest(parts[""]):
            text = _without_manifests(text, cover)
        marks = marks_in(parts["every"].lower())
        for shape in SHAPES:
            if shape.may_stand_in(parts, marks, names):
                text = _hidden(text, shape, cover)
        return _without_settings(text, marks, cover) if marks else text

    def _without_forms(self, text: str, words: str, cover: Cover) -> str:
        """Cover known values that are encoded or wrapped over several lines; `words` are the long words of the text's
        outline.
        """
        for form, name in self._forms.items() if words else ():
            if in_outline(form) in words:
                text = re.sub(rf"[\w+/=%-]*{re.escape(form)}[\w+/=%-]*", partial(_covered_form, cover, name), text)
        if len(text) > _LONGEST_WRAPPED or not self._names:
            return text
        whole = "".join(text.split())
        for value, name in self._names.items():
            squeezed = "".join(value.split())
            if squeezed in whole:
                wrapped = r"\s*".join(map(re.escape, squeezed))
                text = re.sub(wrapped, partial(_covered_form, cover, name), text)
        return text

    def masked_data(self, value: Any) -> Any:
        """Return JSON-like data with every string masked, except in the fields `_UNSHOWN`; tuples become lists.

        `strings_in` yields the strings that this masks.
        """
        if isinstance(value, str):
            return self.masked(value)
        if isinstance(value, Mapping):
            return {name: part if name in _UNSHOWN else self.masked_data(part) for name, part in value.items()}
        return [self.masked_data(part) for part in value] if isinstance(value, list | tuple) else value


def strings_in(value: Any) -> Iterator[str]:
    """Yield, in any order, the strings of JSON-like data that `masked_data` would mask."""
    parts = [value]
    while parts:
        part = parts.pop()
        if isinstance(part, str):
            yield part
        elif isinstance(part, dict):
            parts += [inner for name, inner in part.items() if name not in _UNSHOWN]
        elif isinstance(part, list | tuple):
            parts += part


MASKER = SecretMasker()
"""The masker of this process, shared by all sessions and logs."""


def mask(name: str) -> str:
    """Return the mask of a secret."""
    return f"‹secret {name}›"


def _outlined(text: str) -> tuple[dict[Words, str], AbstractSet[str]]:
    """Return the parts of the text's outline, and the program names of shapes among its words."""
    short = outline(text)
    every = frozenset(short.split())
    return parts_of(short, every), names_in(every)


def masks_in(values: Iterable[Any]) -> str | None:
    """Return the first mask in plain data, such as a call's arguments, or None if there is none."""
    for value in values:
        if isinstance(value, str):
            match = _MASK.search(value)
            if match:
                return match.group()
        elif isinstance(value, Mapping | list | tuple):
            inner = masks_in(value.values() if isinstance(value, Mapping) else value)
            if inner:
                return inner
    return None


def _hidden(text: str, shape: Shape, cover: Cover) -> str:
    pieces, end = [], 0
    for match in shape.matches(text):
        pieces += [text[end : match.start()], _in_mask(match, shape.name, cover)]
        end = match.end()
    return "".join([*pieces, text[end:]]) if pieces else text


def _in_mask(match: re.Match[str], name: str, cover: Cover) -> str:
    """Return a match with its group `secret` covered, or covered entirely if its pattern has no such group."""
    if "secret" not in match.re.groupindex:
        return cover(name, match.group())
    whole, start = match.group(), match.start()
    label = match.groupdict().get("name") or name
    covered = cover(label, match.group("secret"))
    return whole[: match.start("secret") - start] + covered + whole[match.end("secret") - start :]


def _part_for(value: str) -> Words:
    """Return the part of a text's outline that has to be searched for the value."""
    return "long" if len(value) >= LONG and value.isascii() and not any(map(str.isspace, value)) else ""


def _forms(value: str) -> set[str]:
    """Return the encoded forms of a value: base64 at any offset, hexadecimal, JSON."""
    raw = value.encode(errors="surrogatepass")
    forms = {raw.hex(), json.dumps(value)[1:-1]}
    for offset in range(3):
        # The first characters depend on the text before, the last on the text after.
        encoded = base64.b64encode(b"\0" * offset + raw).decode()
        core = encoded[(0, 2, 3)[offset] : (offset + len(raw)) // 3 * 4]
        forms |= {core, core.replace("+", "-").replace("/", "_")}
    return {form for form in forms if len(form) >= _SHORTEST_FORM and value not in form}


def _covered_form(cover: Cover, name: str, match: re.Match[str]) -> str:
    return cover(name, match.group())


def _may_have_manifest(text: str) -> bool:
    return "kind" in text and "Secret" in text


def _without_manifests(text: str, cover: Cover) -> str:
    pieces, end = [], 0
    for start, stop in values_in(text):
        pieces += [text[end:start], cover("of Kubernetes", text[start:stop])]
        end = stop
    return "".join([*pieces, text[end:]])


def _without_settings(text: str, marks: Collection[str], cover: Cover) -> str:
    pieces, end = [], 0
    for setting in settings_in(text, lower_case(text), marks):
        pieces += [text[end : setting.start], cover(setting.name, text[setting.start : setting.end])]
        end = setting.end
    return "".join([*pieces, text[end:]]) if pieces else text
