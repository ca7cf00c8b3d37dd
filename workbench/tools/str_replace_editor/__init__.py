"""The tool `str_replace_editor`: view, create and edit text files, and undo edits."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from msgspec.structs import replace

from workbench.protocol.presentation import Presentation
from workbench.tools.exports import exports_of
from workbench.tools.manifest import Manifest

NAME = "str_replace_editor"
_EDIT = Presentation(
    icon="±", noun="edit", activity="editing", headline="{path:path}", title="Edit {path:path}", result="changes"
)
_VIEW = Presentation(
    icon="≡",
    noun="view",
    activity="reading",
    headline="{path:path}[ {view_range:lines}]",
    title="Read {path:path}[ {view_range:lines}]",
    result="none",
)
_VARIANTS = {
    "view": _VIEW,
    "create": replace(_EDIT, headline="{path:path} new", title="Create {path:path}"),
    "undo_edit": replace(_EDIT, headline="{path:path} undo", title="Undo an edit of {path:path}"),
    "insert": replace(_EDIT, headline="{path:path} insert"),
}


def _variant(arguments: Mapping[str, Any]) -> Presentation:
    command = arguments.get("command")
    return _VARIANTS.get(command, _EDIT) if isinstance(command, str) else _EDIT


MANIFEST = Manifest("definition:FileEditorTool", "edit", _EDIT, _variant)

__getattr__, __dir__, __all__ = exports_of(__name__)
