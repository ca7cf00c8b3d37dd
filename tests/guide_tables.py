"""The part of the guide on settings that is made from the table of settings: `python -m tests.guide_tables`."""

import re
from pathlib import Path

from workbench.config.setting_kinds import REQUIRED, Setting, declared
from workbench.config.settings import Settings

GUIDE = Path(__file__).parent.parent / "workbench/guide/settings.md"
_BLOCK = re.compile(r"^\| setting \|.*?\n(?=\n)", re.MULTILINE | re.DOTALL)


def settings_table() -> str:
    """The Markdown table of all settings."""
    rows = (row(name, each) for name, each in declared(Settings).items())
    return "\n".join(("| setting | default | meaning |", "|---|---|---|", *rows)) + "\n"


def row(name: str, setting: Setting) -> str:
    """Return the row of one setting: name, default, meaning, and its flag or a note that it has none."""
    default = "" if setting.default in (REQUIRED, None, {}) else setting.kind.show(setting.default)
    where = f"Flag: `{setting.flag}`." if setting.flag else "Only in the file." if setting.kind.is_table else ""
    shown = f"`[{name}]`" if setting.default == {} else f"`{name}`"
    meaning = f"{setting.reference} {where}".strip().replace("|", "\\|")
    return f"| {shown} | {f'`{default}`' if default else ''} | {meaning} |"


def with_table(guide: str) -> str:
    """Return the guide with an up-to-date table."""
    return _BLOCK.sub(lambda _: settings_table(), guide)


if __name__ == "__main__":
    GUIDE.write_text(with_table(GUIDE.read_text()))
