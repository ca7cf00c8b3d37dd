"""How the parts of a diff look, in the words of a style; read by DiffView.

A table and no style sheet: Textual works out every class of a widget's parts each time the widget is mounted or its
styles are applied, and a question would wait for that. Of these only what is painted is worked out.
"""

from __future__ import annotations

from typing import Final

_TEXT: Final = "$foreground"
LOOKS: Final = {
    "same": _TEXT,
    "added": f"{_TEXT} on $diff-added",
    "removed": f"{_TEXT} on $diff-removed",
    "added-word": "bold on $diff-added-word",
    "removed-word": "bold on $diff-removed-word",
    "gutter": "$diff-gutter",
    "gutter-same": "$diff-gutter",
    "gutter-added": "$diff-gutter on $diff-added",
    "gutter-removed": "$diff-gutter on $diff-removed",
    "sign-same": "$diff-gutter",
    "sign-added": "bold $sign-ok on $diff-added",
    "sign-removed": "bold $sign-failed on $diff-removed",
    "stays": "$dim",
    "left-out": "strike $dim",
    "gutter-stays": "$diff-gutter",
    "gutter-left-out": "$diff-gutter",
    "sign-stays": "$dim",
    "sign-left-out": "bold $sign-failed",
    "nothing": "on $panel",
    "fold": "$diff-gutter on $panel",
    "file": "bold $panel-title on $panel",
    "note": "italic $diff-gutter",
    "mark": "bold $primary",
    "cursor": "bold $background on $primary",
    "match": "underline $text-warning on $warning-muted",
    "match-now": "bold $background on $warning",
    "remark": "$primary on $panel",
    "comment": "italic $diff-gutter",
    "keyword": "$text-accent",
    "string": "$text-success",
    "number": "$text-warning",
    "builtin": "$text-secondary",
    "definition": "bold $text-primary",
}
"""Signs of a line, its numbers (`gutter`) and its sign, by what became of it; then what stands out, and syntax."""
