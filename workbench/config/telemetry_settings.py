"""The settings of telemetry: the table `[telemetry]`."""

from __future__ import annotations

from collections.abc import Mapping

from workbench.config.setting_kinds import Switch, Url, checked_table, setting
from workbench.errors import UsageError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dataclasses import dataclass
else:

    def dataclass(**_: object) -> object:
        """Return a decorator that changes nothing: the module `settings` makes the class a dataclass."""
        return lambda table: table


@dataclass(frozen=True)
class TelemetrySettings:
    """The table `[telemetry]`: whether and where spans are sent, and what is in them."""

    enabled: bool = setting(False, Switch(), "Send spans", "Send spans of runs, steps, model calls and tool calls.")
    endpoint: str = setting(
        "",
        Url(),
        "OTLP endpoint",
        "URL of a collector that speaks OTLP over HTTP, such as http://127.0.0.1:4318.",
        unset="OTEL_EXPORTER_OTLP_ENDPOINT, or port 4318 of this machine",
    )
    content: bool = setting(
        False,
        Switch(),
        "Content",
        "Also send prompts, what models are sent, answers, arguments and results, without secrets.",
    )


def read_telemetry(values: object) -> TelemetrySettings:
    """Return the settings in the table `[telemetry]`. Raises a UsageError that names an invalid key or value."""
    if not isinstance(values, Mapping):
        raise UsageError("telemetry must be a table: [telemetry]")
    return TelemetrySettings(**checked_table(TelemetrySettings, "telemetry", values))
