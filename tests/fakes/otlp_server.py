"""A collector on loopback that receives spans by OTLP over HTTP: https://opentelemetry.io/docs/specs/otlp."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.common.v1.common_pb2 import AnyValue
from opentelemetry.proto.trace.v1.trace_pb2 import Span


@dataclass
class ReceivedSpan:
    """One span, with the attributes of its resource."""

    name: str
    trace: str
    id: str
    parent: str
    kind: str
    start: datetime
    end: datetime
    is_error: bool
    attributes: Mapping[str, Any]
    resource: Mapping[str, Any]


@dataclass
class OtlpServer:
    """Answers each export with `status`, after it was `opened` by a test that blocks it."""

    status: int = 200
    spans: list[ReceivedSpan] = field(default_factory=list)
    requests: list[tuple[str, Mapping[str, str]]] = field(default_factory=list)
    """The path and the headers of each request."""
    opened: threading.Event = field(default_factory=threading.Event)

    def __enter__(self) -> Self:
        self.opened.set()
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self))
        self._server.daemon_threads = True
        threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True).start()
        return self

    def __exit__(self, *error: object) -> None:
        self.opened.set()
        self._server.shutdown()
        self._server.server_close()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_port}"

    def named(self, name: str) -> ReceivedSpan:
        """Return the only span with that name."""
        (span,) = [each for each in self.spans if each.name == name]
        return span

    def children(self, parent: ReceivedSpan) -> list[ReceivedSpan]:
        """Return the spans below another one, in the order in which they started."""
        return sorted((each for each in self.spans if each.parent == parent.id), key=lambda each: each.start)


def _handler(server: OtlpServer) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            server.requests.append((self.path, dict(self.headers)))
            server.opened.wait()
            if server.status == 200:
                server.spans += _spans(ExportTraceServiceRequest.FromString(body))
            self.send_response(server.status)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_: object) -> None:
            """Print nothing."""

    return Handler


def _spans(request: ExportTraceServiceRequest) -> list[ReceivedSpan]:
    return [
        _received(span, {each.key: _value(each.value) for each in group.resource.attributes})
        for group in request.resource_spans
        for scope in group.scope_spans
        for span in scope.spans
    ]


def _received(span: Span, resource: Mapping[str, Any]) -> ReceivedSpan:
    return ReceivedSpan(
        span.name,
        span.trace_id.hex(),
        span.span_id.hex(),
        span.parent_span_id.hex(),
        Span.SpanKind.Name(span.kind),
        datetime.fromtimestamp(span.start_time_unix_nano / 1e9, UTC),
        datetime.fromtimestamp(span.end_time_unix_nano / 1e9, UTC),
        span.status.code == span.status.STATUS_CODE_ERROR,
        {each.key: _value(each.value) for each in span.attributes},
        resource,
    )


def _value(value: AnyValue) -> Any:
    kind = value.WhichOneof("value")
    if kind == "array_value":
        return [_value(each) for each in value.array_value.values]
    return getattr(value, kind)
