"""From the arguments of a call to an HTTP request, each written as the document says; used by `calling`."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote, urlencode

from workbench.tools.openapi.operations import Body, Operation, Parameter

_SEPARATORS = {"spaceDelimited": " ", "pipeDelimited": "|"}
Pairs = list[tuple[str, str]]


@dataclass
class Request:
    """What is sent."""

    method: str
    url: str
    query: Pairs = field(default_factory=list)
    headers: dict[str, str] = field(default_factory=dict)
    cookies: Pairs = field(default_factory=list)
    content: bytes | None = None
    form: dict[str, Any] | None = None
    """The fields of a multipart body, which the client writes."""


def request_of(operation: Operation, arguments: Mapping[str, Any], headers: Mapping[str, str]) -> Request:
    """The request of a call, without what signs in; raises ValueError for what cannot be written."""
    path = operation.path
    request = Request(operation.method.upper(), "", headers={"Accept": "application/json, */*;q=0.5", **headers})
    for parameter in operation.parameters:
        if parameter.argument not in arguments or arguments[parameter.argument] is None:
            continue
        value = arguments[parameter.argument]
        if parameter.where == "path":
            path = path.replace(f"{{{parameter.name}}}", _in_path(parameter, value))
        elif parameter.where == "query":
            request.query += _in_query(parameter, value)
        elif parameter.where == "header":
            request.headers[parameter.name] = _header(_simple(parameter, value))
        else:
            request.cookies += _in_query(parameter, value)
    request.url = operation.base_url.rstrip("/") + "/" + path.lstrip("/")
    if operation.body and operation.body.argument in arguments:
        _write_body(request, operation.body, arguments[operation.body.argument])
    return request


def _in_path(parameter: Parameter, value: Any) -> str:
    """A part of the path: nothing in a value can lead to another one."""
    text = _simple(parameter, value)
    prefix = {"label": ".", "matrix": f";{parameter.name}="}.get(parameter.style, "")
    if not text or text in (".", ".."):
        raise ValueError(f"`{parameter.argument}` cannot be {text!r}: it is a part of the path")
    return prefix + quote(text, safe="," if isinstance(value, list | dict) else "")


def _in_query(parameter: Parameter, value: Any) -> Pairs:
    explode = parameter.explode if parameter.explode is not None else parameter.style in ("", "form", "deepObject")
    if parameter.media or not isinstance(value, list | dict):
        return [(parameter.name, _written(parameter, value))]
    if isinstance(value, list):
        if explode and parameter.style not in _SEPARATORS:
            return [(parameter.name, _text(part)) for part in value]
        return [(parameter.name, _SEPARATORS.get(parameter.style, ",").join(map(_text, value)))]
    if parameter.style == "deepObject":
        return [(f"{parameter.name}[{key}]", _text(part)) for key, part in value.items()]
    if explode:
        return [(str(key), _text(part)) for key, part in value.items()]
    return [(parameter.name, ",".join(f"{key},{_text(part)}" for key, part in value.items()))]


def _simple(parameter: Parameter, value: Any) -> str:
    """As parts of the path and headers are written."""
    if parameter.media or not isinstance(value, list | dict):
        return _written(parameter, value)
    if isinstance(value, list):
        return ",".join(map(_text, value))
    sign = "=" if parameter.explode else ","
    return ",".join(f"{key}{sign}{_text(part)}" for key, part in value.items())


def _written(parameter: Parameter, value: Any) -> str:
    return json.dumps(value) if parameter.media and "json" in parameter.media else _text(value)


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if value is None:
        return ""
    if isinstance(value, float) and value.is_integer():
        value = int(value)  # a `number` that was given as a whole one
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _header(text: str) -> str:
    if any(sign in text for sign in "\r\n\0"):
        raise ValueError("a header cannot hold a line break")
    return text


def _write_body(request: Request, body: Body, value: Any) -> None:
    kind = body.media.partition(";")[0].strip().lower()
    if kind == "multipart/form-data":
        fields = value if isinstance(value, dict) else {"value": value}
        request.form = {str(name): _text(part) for name, part in fields.items()}
        return
    request.headers["Content-Type"] = "application/json" if body.media == "*/*" else body.media
    if kind == "application/x-www-form-urlencoded" and isinstance(value, dict):
        pairs = [(name, each) for name, part in value.items() for each in (part if isinstance(part, list) else [part])]
        request.content = urlencode([(str(name), _text(part)) for name, part in pairs]).encode()
    elif "json" in kind or kind == "*/*" or not isinstance(value, str):
        request.content = json.dumps(value, ensure_ascii=False).encode()
    else:
        request.content = value.encode(errors="replace")
