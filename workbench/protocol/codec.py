"""Frozen structs for plain data, and their JSON encoding.

The key `kind` of a JSON object names its struct.

Any Python string survives a round trip through `encode` and `decode`. Python represents a byte that is not UTF-8 (in an
argument, a file name or a server's answer) as a lone surrogate, and JSON as an escape such as `\\udce9`; msgspec
neither writes nor reads these.
"""

from __future__ import annotations

import json
import threading
from typing import Any, Final, TypeVar, dataclass_transform

import msgspec

from workbench.lazy_pattern import lazy_pattern
from workbench.text import well_formed

T = TypeVar("T")
_WORD: Final = lazy_pattern(r"(?<=[a-z])(?=[A-Z])")
_MAKING: Final = threading.Lock()
_ESCAPED_SURROGATE: Final = lazy_pattern(rb"\\u[dD][89a-fA-F]")


def snake_case(name: str) -> str:
    """Return a class name as a tag: `ActionDecided` as `action_decided`."""
    return _WORD.sub("_", name).lower()


class _DataType(msgspec.StructMeta):
    """Makes every subclass of `Data` frozen and keyword-only, because msgspec does not inherit these options."""

    def __new__(mcls, name: str, bases: tuple[type, ...], namespace: dict[str, Any], **config: Any) -> _DataType:
        config = {"frozen": True, "kw_only": True, "forbid_unknown_fields": True, **config}
        cls: _DataType = super().__new__(mcls, name, bases, namespace, **config)
        return cls


@dataclass_transform(frozen_default=True, kw_only_default=True, field_specifiers=(msgspec.field,))
class Data(msgspec.Struct, metaclass=_DataType, frozen=True, kw_only=True):
    """Plain data: frozen and keyword-only; decoding rejects fields that are not declared."""


class TaggedData(Data, tag_field="kind", tag=snake_case):
    """Plain data whose JSON names its class."""

    @property
    def kind(self) -> str:
        """The tag in JSON: the class name in snake case, unless the class says otherwise."""
        return str(type(self).__struct_config__.tag)


def as_text(value: Any) -> str:
    """Return an instance of a subclass of `str`, such as a reason with traits, as a plain `str` that msgspec can write.

    Raises TypeError for any other type.
    """
    if isinstance(value, str):
        return str(value)
    raise TypeError(f"a value of the type {type(value).__name__} cannot be written as JSON")


def encode(message: Data) -> bytes:
    """Encode a struct as JSON; strings may contain lone surrogates.

    Raises TypeError for a value that JSON cannot represent.
    """
    try:
        return msgspec.json.encode(message, enc_hook=as_text)
    except UnicodeEncodeError:
        return json.dumps(to_plain(message), separators=(",", ":")).encode()


def to_plain(message: Data) -> dict[str, Any]:
    """Convert a struct to types that `json` can write: dicts, tuples, lists, strings, numbers, booleans and None."""
    plain: dict[str, Any] = msgspec.to_builtins(message, enc_hook=as_text)
    return plain


def without_surrogates(message: T) -> T:
    """Return the same struct with each lone surrogate replaced with U+FFFD, so that it can be stored as UTF-8."""
    return msgspec.convert(_well_formed(msgspec.to_builtins(message, enc_hook=as_text)), type(message))


def _well_formed(value: Any) -> Any:
    if isinstance(value, str):
        return well_formed(value)
    if isinstance(value, dict):
        return {_well_formed(name): _well_formed(part) for name, part in value.items()}
    if isinstance(value, list | tuple):
        return [_well_formed(part) for part in value]
    return value


def decoder_of(kind: Any) -> msgspec.json.Decoder[Any]:
    """Return a decoder for a type; safe to call from any thread.

    msgspec stores what it learns about a struct's fields in the struct, where another thread may see it half complete:
    if two threads made decoders for the same structs at once, the process would crash. A lock prevents that.
    """
    with _MAKING:
        return msgspec.json.Decoder(kind)


def decode(decoder: msgspec.json.Decoder[T], line: str | bytes) -> T:
    """Decode a line written by `encode`. Raises ValueError if it is not valid for the decoder's type."""
    line = line.encode() if isinstance(line, str) else line
    if not _ESCAPED_SURROGATE.search(line):
        return decoder.decode(line)
    try:
        converted: T = msgspec.convert(json.loads(line), decoder.type)
    except RecursionError as error:
        raise ValueError("nested too deeply") from error
    return converted
