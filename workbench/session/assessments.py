"""The local ratings of a session's tool calls, each computed once and reused while everything it depends on is
unchanged.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from workbench.files.recorded_stat import RecordedAnswers, recording
from workbench.risk import Assessment, RatingContext, assess, live_inputs
from workbench.session.state import State
from workbench.tools.tool import ToolDefinition

_MAX_ENTRIES: Final = 100


class Assessments:
    """Rates tool calls; may be used by any thread.

    A rating depends on the tool, its arguments, the directories, what the analysis reads from the running tool, and the
    facts it found in the file system; it is reused only if each of those facts is still true. Modes, rules and trust
    are not part of it: they are applied to the rating each time.
    """

    def __init__(self, state: State) -> None:
        self._state = state
        self._lock = threading.Lock()
        self._entries: dict[str, tuple[Assessment, RecordedAnswers]] = {}

    def of(self, tool: ToolDefinition, arguments: Mapping[str, Any]) -> Assessment:
        """Return the current rating of a call."""
        workspace = self._state.workspace
        directory = tool.working_dir() or workspace
        context = RatingContext(workspace, directory)
        try:
            inputs = live_inputs(tool, arguments, context)
            key = json.dumps([tool.name, arguments, workspace, directory, inputs, str(Path.home())], sort_keys=True)
        except Exception:  # noqa: BLE001 - a third-party tool; rating it reports what is wrong
            return assess(tool, arguments, context)
        with self._lock:
            entry = self._entries.get(key)
        if entry is not None and entry[1].hold():
            return entry[0]
        with recording() as facts:
            assessment = assess(tool, arguments, context)
        with self._lock:
            self._entries.pop(key, None)
            while len(self._entries) >= _MAX_ENTRIES:
                del self._entries[next(iter(self._entries))]
            self._entries[key] = assessment, facts
        return assessment
