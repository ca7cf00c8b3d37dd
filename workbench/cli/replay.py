"""`ohw replay` runs a session's actions again and compares them with the record, or continues from an earlier event."""

from __future__ import annotations

import json
import os
import sys
from argparse import Namespace
from collections.abc import Iterator
from datetime import UTC, datetime

from msgspec.structs import replace

from workbench.cli.common import chosen_session, print_error, print_line, settings_of
from workbench.errors import UsageError, WorkbenchError, exhaustion
from workbench.llm.model import Cancel
from workbench.protocol.events import UserMessage
from workbench.session.forks import fork_at
from workbench.session.model_keys import SessionModels
from workbench.session.replay.divergence import Divergence, ReplayResult, plain
from workbench.session.replay.run import ReplayOptions
from workbench.session.replay.run import replay as replay_session
from workbench.session.session import EXIT
from workbench.session.session_names import DRAFT, state_directory
from workbench.text import counted, visible, visible_path

_EQUAL, _DIVERGED, _UNUSABLE = 0, 1, 2
_MOST_LINES = 60
_UNCERTAIN = "it is not certain which parts of it are paths of the session's directory; look at it first"
_CONTINUE = "Continue."
"""The message that is sent if no other prompt is given and the checkpoint is not a message."""


def replay(arguments: Namespace) -> int:
    """Replay a session, or continue it with `--from`.

    Returns 0 if all results are as recorded, 1 if something differs, 2 if the session cannot be replayed; with `--from`
    the exit code of the run.
    """
    if arguments.start is not None:
        return what_if(arguments)
    if _decides(arguments) or any(each is not None for each in (arguments.prompt, arguments.model, arguments.mode)):
        raise UsageError("--prompt, --model, --mode, --approve and --reject need --from EVENT")
    try:
        return _replayed(arguments)
    except WorkbenchError as error:
        print_error(visible(str(error), lines=False))
    except (OSError, MemoryError, RuntimeError) as error:
        print_error(visible(exhaustion(error) or f"the session cannot be replayed: {error}", lines=False))
    return _UNUSABLE


def _replayed(arguments: Namespace) -> int:
    locations, settings = settings_of(arguments, lenient=True)
    session = chosen_session(locations, arguments)
    options = ReplayOptions(arguments.until, keeps_going=arguments.keep_going, is_live=arguments.live)
    result = replay_session(locations, settings, session.id, options, Cancel())
    if arguments.json:
        print_line(json.dumps(_as_json(session.id, result), ensure_ascii=False))
    else:
        for line in (*_described(result), _summary(result)):
            print_line(visible(line, lines=False))
    return _DIVERGED if result.divergences else _EQUAL


def what_if(arguments: Namespace) -> int:
    """Fork a session into its own directory, and continue the fork with another model, prompt or decision.

    Returns the exit code of the run, as `ohw run` does. The original session is not changed, and a rule of the fork
    denies access to its directory.
    """
    locations, settings = settings_of(arguments)
    _check(arguments)
    decides = _decides(arguments)
    session = chosen_session(locations, arguments)
    if arguments.model:  # a model that cannot be used leaves no fork behind
        models = SessionModels(settings, dict(os.environ))
        models.open_chosen(arguments.model).close()
    forked = fork_at(locations, session.id, arguments.start, "", keeps_run=decides)
    (state_directory(locations, forked.id) / DRAFT).unlink(missing_ok=True)
    from workbench.plain.headless import EarlyDecision, continue_session

    start: str | UserMessage | list[EarlyDecision] = arguments.prompt or _again(forked.point.message)
    if decides:
        last = forked.point.action_id
        doubts = dict.fromkeys(forked.uncertain, _UNCERTAIN)
        start = [EarlyDecision(each, doubt=doubts.get(each, "")) for each in forked.point.approved]
        start.append(EarlyDecision(last, arguments.reject, doubts.get(last, "")))
    try:
        return continue_session(
            locations, settings, forked.id, start, denied_directory=session.workspace, as_json=arguments.json
        )
    finally:
        sys.stdout.flush()
        for line in (
            f"its directory: {visible_path(forked.workspace)}",
            f"compare with: ohw compare {session.id} {forked.id}",
        ):
            sys.stderr.write(f"{line}\n")


def _again(message: UserMessage | None) -> UserMessage | str:
    """Return the message to send again, without the model that its custom command names;
    "Continue." if there is none.
    """
    if message is None:
        return _CONTINUE
    command = replace(message.command, model="") if message.command is not None else None
    return replace(message, seq=0, at=datetime.now(UTC), command=command)


def _decides(arguments: Namespace) -> bool:
    return arguments.approve or arguments.reject is not None


def _check(arguments: Namespace) -> None:
    """Raise UsageError if the options do not fit `--from`."""
    if arguments.until is not None or arguments.keep_going or arguments.live:
        raise UsageError("--from continues the session instead of comparing it; use no --until, --keep-going or --live")
    if arguments.approve and arguments.reject is not None:
        raise UsageError("--approve and --reject cannot be used together")
    if arguments.prompt is not None and _decides(arguments):
        raise UsageError("the agent continues after the decision; use no --prompt with --approve or --reject")
    if arguments.prompt is not None and arguments.prompt.strip() in ("", EXIT):
        raise UsageError(f"--prompt needs a message, and {EXIT} is none")
    if not (arguments.prompt or arguments.model or _decides(arguments)):
        raise UsageError(
            "--from needs something to change: --prompt TEXT or --model NAME, or --approve or --reject NOTE for an "
            "action that waited for approval"
        )


def _as_json(session_id: str, result: ReplayResult) -> dict[str, object]:
    return {
        "session": session_id,
        "equal": not result.divergences,
        "ran": result.ran,
        "recorded": result.recorded,
        "not_run": result.not_run,
        "confined": result.is_confined,
        "divergences": [plain(each) for each in result.divergences],
    }


def _described(result: ReplayResult) -> Iterator[str]:
    for each in result.divergences:
        yield _heading(each)
        yield "  --- recorded"
        yield "  +++ now"
        yield from (f"  {line}" for line in each.diff[:_MOST_LINES])
        if len(each.diff) > _MOST_LINES:
            yield f"  … {counted(len(each.diff) - _MOST_LINES, 'more line')}"
        yield ""


def _heading(each: Divergence) -> str:
    what = {"call": "the call", "result": "the result", "file": f"the file {visible_path(each.path)}"}[each.what]
    return f"Event {each.seq}, {each.tool} ({each.title}): {what} differs"


def _summary(result: ReplayResult) -> str:
    count = len(result.divergences)
    outcome = f"{counted(count, 'difference')}" if count else "Equal"
    recorded = ", ".join(f"{count} because of {reason}" for reason, count in sorted(result.recorded.items()))
    parts = [f"{outcome}: {counted(result.ran, 'action')} ran again"]
    if recorded:
        parts.append(f"recorded results were used for others ({recorded})")
    if not result.is_confined:
        parts.append("what they wrote was not confined to the scratch directory")
    return "; ".join(parts) + "."
