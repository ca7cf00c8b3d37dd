"""A file that two sessions and the user wrote, and the logs of both sessions, in a directory of a test's own."""

from __future__ import annotations

import os
from datetime import timedelta
from pathlib import Path
from typing import Any

from tests.tui.sample_session import START, Script
from tests.tui.session_files import keep
from workbench.config.locations import Locations
from workbench.protocol import events as ev
from workbench.session.session_names import session_path
from workbench.session.storage.store import Store

HEAD = '"""Prices and their taxes."""\n\nfrom decimal import Decimal\n'
GROSS = "\n\ndef gross(price, country):\n    rate = TAX[country]\n    return price * (1 + rate)\n"
CHECKED = GROSS.replace(
    "    rate = TAX[country]\n",
    '    if country not in TAX:\n        raise ValueError(f"unknown: {country}")\n    rate = TAX[country]\n',
)
TAX = "\nTAX = {'at': Decimal('0.20'), 'de': Decimal('0.19')}\n"
MINE = "\n\ndef net(price, country):\n    return price / (1 + TAX[country])\n"
FIRST = HEAD + GROSS
SECOND = HEAD + TAX + CHECKED
LAST = SECOND + MINE
EARLIER = START - timedelta(days=12)


def keep_blamed(workspace: Path) -> Script:
    """Write `shop.py` and the logs of the session s0, twelve days ago, and of s1, which is returned."""
    path = workspace / "shop.py"
    path.write_text(LAST)
    os.utime(path, (START.timestamp() + 40, START.timestamp() + 40))
    keep("s0", "Write the module with the prices", *_written(str(path)), at=EARLIER, workspace=str(workspace))
    script = Script().start(workspace=str(workspace), model="anthropic/claude-sonnet-4-5")
    script.user("Raise an error for unknown countries").answer("I add a check and the table.")
    _edit(script, path, "Add the table of taxes", FIRST, HEAD + TAX + GROSS)
    script.answer("Now the check.")
    _edit(script, path, "Check the country", HEAD + TAX + GROSS, SECOND)
    script.add(ev.RunEnded, reason="finished")
    return keep_script(script)


def keep_script(script: Script, name: str = "s1") -> Script:
    """Store the events of a script as a session."""
    session = session_path(Locations.from_environment(), name)
    session.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    with Store.create(session) as store:
        store.append(*script.events)
    return script


def _edit(script: Script, path: Path, summary: str, before: str, after: str) -> None:
    delta = ev.FileDelta(path=str(path), before=before, after=after)
    action_id = script.propose("execute_bash", "MEDIUM", summary, command="python3 edit.py")
    script.add(ev.ActionAssessed, action_id=action_id, risk="MEDIUM", rule="Ask (medium+)")
    script.add(ev.ActionDecided, action_id=action_id, verdict="approved", by="person")
    script.add(ev.ActionStarted, action_id=action_id)
    script.end(action_id, "done", files=(delta,))


def _written(path: str) -> list[Any]:
    return [
        ev.ModelResponded(response_id="r0", model="openai/gpt-5", text="A module."),
        ev.ActionProposed(
            action_id="w",
            response_id="r0",
            call_id="w",
            tool="execute_bash",
            summary="Write the module",
            arguments={"command": "python3 write.py"},
        ),
        ev.ActionDecided(action_id="w", verdict="approved", by="rule", rule="allow $ python3 *"),
        ev.ActionObserved(
            action_id="w",
            observation={"content": []},
            files_changed=(ev.FileDelta(path=path, before=HEAD, after=FIRST),),
        ),
    ]
