"""One line in place of the traceback that Textual prints when the app crashes."""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import wraps
from typing import TYPE_CHECKING, Any, Final

from rich.text import Text

from workbench.tui.textual_seam.memory import patch

if TYPE_CHECKING:
    from textual.app import App

FATAL_ERROR: Final = "textual.app:App._fatal_error"


def print_instead_of_traceback(line_of: Callable[[BaseException], str]) -> None:
    """Patch Textual so that a crash prints what `line_of` returns for the exception; a second one prints nothing.

    Reason: Textual 8.2.8 prints a traceback with the values of all variables, such as messages and keys, into the
    terminal, where they stay. With `textual run --dev` it still does.
    Upstream: `App._fatal_error`. `tests/e2e/test_crash_reports.py` fails without it.
    Without it: a target that is gone is skipped (`patch`).
    """
    patch(FATAL_ERROR, lambda original: _line_once(original, line_of))


def _line_once(original: Callable[..., None], line_of: Callable[[BaseException], str]) -> Callable[..., None]:
    reported: list[BaseException] = []

    @wraps(original)
    def _fatal_error(app: App[Any]) -> None:
        error = sys.exc_info()[1]
        if error is None or "debug" in app.features:
            original(app)
        elif not reported:
            reported.append(error)
            app.panic(Text(f"ohw: {line_of(error)}"))

    return _fatal_error
