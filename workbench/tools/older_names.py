"""Registers the names that tools have in earlier versions and in other agents; the package imports this module."""

from __future__ import annotations

from workbench.protocol.tool_names import register_older_names

OLDER_NAMES: dict[str, str] = {
    "bash": "execute_bash",
    "terminal": "execute_bash",
    "file_editor": "str_replace_editor",
    "str_replace": "str_replace_editor",
    "str_replace_based_edit_tool": "str_replace_editor",
    "terminate": "finish",
}
"""The current name of a tool, by its older name."""

register_older_names(OLDER_NAMES)
