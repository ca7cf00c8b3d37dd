"""The dotted names of settings, such as `terminal.bell` and `models.fast.temperature`, for commands and completion."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from workbench.config.agent_settings import AgentSettings
from workbench.config.container_settings import ContainerSettings
from workbench.config.setting_kinds import Setting, Table, declared
from workbench.config.table import Profile, Settings
from workbench.config.telemetry_settings import TelemetrySettings
from workbench.config.terminal_settings import TerminalSettings
from workbench.errors import UsageError
from workbench.suggest import near

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_TABLES = {"terminal": TerminalSettings, "container": ContainerSettings, "telemetry": TelemetrySettings}
"""The tables `[TABLE]` with declared entries, each with the class that declares them."""
_NAMED_TABLES = {"models": Profile, "agents": AgentSettings}
"""The tables `[TABLE.NAME]` with declared entries, by TABLE, each with the class that declares them."""


class SettingName:
    """A dotted name: its path in the file, and the declaration of its setting; None for a name that the table of
    settings does not declare, such as a tool's parameter, a key binding or `models.fast`.
    """

    def __init__(self, path: tuple[str, ...], setting: Setting | None) -> None:
        self.path = path
        self.setting = setting

    @property
    def text(self) -> str:
        """The name as the user writes it."""
        return ".".join(self.path)

    @property
    def is_table(self) -> bool:
        """Whether it names a table, which has no value of its own."""
        return self.setting is not None and isinstance(self.setting.kind, Table)


def parse_name(text: str, values: Mapping[str, Any]) -> SettingName:
    """Return the parsed name of a setting; `values` is the content of the file, whose own names may contain dots.

    Raises UsageError, which suggests the nearest name.
    """
    table, _, rest = text.partition(".")
    setting = declared(Settings).get(table)
    if setting is None or (rest and not isinstance(setting.kind, Table)):
        raise UsageError(f"there is no setting {text!r}{near(text, names(values))}")
    if not rest:
        return SettingName((table,), setting)
    if table in _TABLES:
        return SettingName((table, rest), _entry(_TABLES[table], table, rest))
    if table in ("tools", "keys"):
        return SettingName((table, *([rest] if table == "keys" else rest.split("."))), None)
    entry, _, key = rest.rpartition(".")
    if rest in _table(values, table) or not entry:
        return SettingName((table, rest), None)
    if table in _NAMED_TABLES:
        return SettingName((table, entry, key), _entry(_NAMED_TABLES[table], f"{table}.{entry}", key))
    return SettingName((table, entry, key), None)


def names(values: Mapping[str, Any]) -> Iterator[str]:
    """Yield the names of all settings that can have a value, including those of the tables in `values`; only the
    entries of tables with secrets (`mcpServers`) are omitted.
    """
    for name, setting in declared(Settings).items():
        if name in _TABLES:
            yield from (f"{name}.{key}" for key in declared(_TABLES[name]))
        elif name in _NAMED_TABLES:
            yield from (
                f"{name}.{entry}.{key}" for entry in _table(values, name) for key in declared(_NAMED_TABLES[name])
            )
        elif isinstance(setting.kind, Table):
            yield from (f"{name}.{entry}" for entry in _table(values, name) if not setting.is_secret)
        else:
            yield name


def _entry(table: type, name: str, key: str) -> Setting:
    entries = declared(table)
    if key not in entries:
        raise UsageError(f"{name} has no entry {key!r}{near(key, entries)}; there are: {', '.join(entries)}")
    return entries[key]


def _table(values: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    table = values.get(name)
    return table if isinstance(table, Mapping) else {}
