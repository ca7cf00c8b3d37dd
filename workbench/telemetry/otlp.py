"""Exports spans with the packages of OpenTelemetry, by OTLP over HTTP."""

from __future__ import annotations

import json
import logging
import threading
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, Final

from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import OTELResourceDetector, Resource
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.trace.export import SpanExportResult
from opentelemetry.sdk.util.instrumentation import InstrumentationScope
from opentelemetry.trace import SpanContext, SpanKind, TraceFlags
from opentelemetry.trace.status import Status, StatusCode

from workbench import __version__
from workbench.secrets.masker import MASKER
from workbench.telemetry.input_messages import input_content
from workbench.telemetry.sender import THREAD
from workbench.telemetry.span import AttributeValue, SpanRecord
from workbench.text import cut_middle

_PATH: Final = "/v1/traces"
_LONGEST: Final = 60_000
"""Characters of an attribute with content, other than the input of a model."""
_LONGEST_INPUT: Final = 2_000_000
"""Characters of the messages that a model was sent."""


class OtlpExporter:
    """Sends spans to a collector. Its URL, unless given, and all else come from the standard variables, such as
    OTEL_EXPORTER_OTLP_HEADERS and OTEL_SERVICE_NAME.
    """

    def __init__(self, endpoint: str, *, with_content: bool) -> None:
        """`endpoint` is the base URL, or the whole URL for spans; empty for the one in the environment."""
        _keep_quiet()
        url = endpoint.rstrip("/")
        self._exporter = OTLPSpanExporter(endpoint=(url.removesuffix(_PATH) + _PATH) if url else None)
        self._with_content = with_content
        named = {"service.name": "ohw", "service.version": __version__}
        self._resource = Resource.create({**named, **OTELResourceDetector().detect().attributes})
        self._scope = InstrumentationScope("ohw", __version__)

    def export(self, spans: Sequence[SpanRecord]) -> bool:
        """Send the spans; return whether they have arrived."""
        return self._exporter.export([self._converted(span) for span in spans]) is SpanExportResult.SUCCESS

    def close(self) -> None:
        """Close the connection."""
        self._exporter.shutdown()  # type: ignore[no-untyped-call]

    def _converted(self, span: SpanRecord) -> ReadableSpan:
        trace_id, parent_id = span.parent.trace_id, span.parent.span_id
        content = _as_json(span.content, _LONGEST) if self._with_content else {}
        if self._with_content and span.request is not None:
            content |= _as_json(input_content(span.request, _LONGEST_INPUT), 2 * _LONGEST_INPUT)
        error = {"error.type": span.error} if span.error else {}
        return ReadableSpan(
            name=span.name,
            context=_context(trace_id, span.span_id),
            parent=_context(trace_id, parent_id) if parent_id is not None else None,
            resource=self._resource,
            attributes={**_masked(span.attributes), **content, **error},
            kind=SpanKind.CLIENT if span.is_call_to_server else SpanKind.INTERNAL,
            instrumentation_scope=self._scope,
            status=Status(StatusCode.ERROR) if span.error else Status(StatusCode.UNSET),
            start_time=_nanoseconds(span.start),
            end_time=_nanoseconds(max(span.start, span.end)),
        )


def _context(trace_id: int, span_id: int) -> SpanContext:
    return SpanContext(trace_id, span_id, is_remote=False, trace_flags=TraceFlags(TraceFlags.SAMPLED))


def _nanoseconds(at: datetime) -> int:
    return int(at.timestamp() * 1_000_000) * 1_000


def _masked(attributes: Mapping[str, AttributeValue]) -> dict[str, AttributeValue]:
    return {name: MASKER.masked(value) if isinstance(value, str) else value for name, value in attributes.items()}


def _as_json(content: Mapping[str, Any], longest: int) -> dict[str, str]:
    """Return the content as the conventions want it in attributes: JSON as text, with secrets masked."""
    return {
        name: cut_middle(json.dumps(MASKER.masked_data(value), ensure_ascii=False), longest)
        for name, value in content.items()
    }


class _OtherThreads(logging.Filter):
    """Drops what is logged in the thread of the sender: it may contain headers, and would be printed in a program that
    has not set up logging.
    """

    def filter(self, record: logging.LogRecord) -> bool:
        """Return whether the record comes from another thread."""
        return record.threadName != THREAD


_OTHER_THREADS: Final = _OtherThreads()


def _keep_quiet() -> None:
    """Drop what the packages log in the thread of the sender; the sender logs that spans could not be sent."""
    if threading.current_thread().name != THREAD:
        return
    for name in [*logging.root.manager.loggerDict]:
        if name.partition(".")[0] == "opentelemetry":
            logging.getLogger(name).addFilter(_OTHER_THREADS)
