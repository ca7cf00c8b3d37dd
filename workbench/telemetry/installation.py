"""Whether the packages of OpenTelemetry, an optional extra, are installed."""

from __future__ import annotations

from importlib.util import find_spec
from typing import Final

MISSING: Final = "opentelemetry is not installed"
INSTALL: Final = "install it with `uv tool install '.[otel]'` in a clone of ohw"


def is_installed() -> bool:
    """Return whether spans can be exported; none of the packages is loaded for that."""
    try:
        return bool(find_spec("opentelemetry.sdk") and find_spec("opentelemetry.exporter.otlp.proto.http"))
    except ModuleNotFoundError:  # raised if a package above the last one is missing
        return False
