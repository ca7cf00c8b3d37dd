"""The commit that `/commit` proposes: the files of the session that differ from the last one, and a message.

The message is made from the log, without a model, and goes into the prompt as a command, where the user edits it.
"""

from __future__ import annotations

import os
import shlex
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path

from workbench.errors import WorkbenchError
from workbench.files.git import run_git
from workbench.session.session_names import without_secrets
from workbench.text import first_line, revealed, visible_path
from workbench.view.formatting.actions import short_path, title_of
from workbench.view.review.review import files_against_head
from workbench.view.state import ActionItem, SessionState, UserItem

_SUBJECT, _LINE = 72, 100
MOST_FILES = 200
"""The most files of one commit: their names are arguments of one command."""
_BATCH, _MOST_LINES = 200, 30


def uncommitted(workspace: Path, paths: Collection[str]) -> list[str]:
    """Return those of the paths that differ from the last commit, relative to the workspace, without ignored files.

    Raises WorkbenchError if the workspace is in no git repository.
    """
    inside = sorted(os.path.relpath(path, workspace) for path in paths if Path(path).is_relative_to(workspace))
    if not inside:
        return []
    prefix = run_git(["rev-parse", "--show-prefix"], cwd=workspace).output.strip()
    names: list[str] = []
    for first in range(0, len(inside), _BATCH):
        command = ["status", "--porcelain", "-z", "--no-renames", "--untracked-files=all", "--"]
        answer = run_git([*command, *inside[first : first + _BATCH]], cwd=workspace)
        if not answer.ok:
            raise WorkbenchError(f"/commit needs a git repository: {first_line(answer.error or 'git failed')}")
        names += (os.fsdecode(entry[3:].removeprefix(prefix)) for entry in answer.output.split(b"\0") if entry)
    return names


def text_at_head(workspace: Path) -> dict[str, str | None]:
    """Return the text in the last commit of each text file that differs from it, None for a new one, by relative path.

    Raises WorkbenchError if git fails.
    """
    here = os.path.realpath(workspace)
    return {os.path.relpath(file.path, here): file.before for file in files_against_head(workspace) if not file.note}


def commit_command(
    state: SessionState, files: Sequence[str], committed: Mapping[str, str | None], *, has_trailers: bool
) -> str:
    """Return the line for the prompt that commits these files; `committed` is their text in the last commit."""
    git = f"git --literal-pathspecs -C {shlex.quote(state.workspace)}"
    names = " ".join(shlex.quote(f"./{name}") for name in files)
    parts = " ".join(
        f"-m {shlex.quote(part)}" for part in message_parts(state, files, committed, has_trailers=has_trailers)
    )
    return f"!{git} add -A -- {names} && {git} commit {parts} -- {names}"


def staged_commit_command(
    state: SessionState, files: Sequence[str], committed: Mapping[str, str | None], *, has_trailers: bool
) -> str:
    """Return the line for the prompt that commits exactly what is staged, which is in these files."""
    message = " ".join(
        f"-m {shlex.quote(part)}" for part in message_parts(state, files, committed, has_trailers=has_trailers)
    )
    return f"!git -C {shlex.quote(state.workspace)} commit {message}"


def message_parts(
    state: SessionState, files: Sequence[str], committed: Mapping[str, str | None], *, has_trailers: bool
) -> list[str]:
    """Return the paragraphs of the message: the subject, the prompts and actions, and the trailers.

    An action is listed for a file only if it came after the last action that left the file as it is in the last
    commit.
    """
    last = _last_committed(state, committed)
    prompts: dict[str, None] = {}
    actions: list[str] = []
    models: dict[str, None] = {}
    prompt = ""
    for item in state.items:
        if isinstance(item, UserItem):
            prompt = item.text if not (item.withdrawn or item.queued) else prompt
        elif isinstance(item, ActionItem) and (changed := list(_changed(item, state.workspace, files, last))):
            prompts[prompt] = None
            actions.append(f"- {_one_line(title_of(item, state.workspace).text, _LINE)} ({', '.join(changed)})")
            models |= {item.response.model: None} if item.response is not None and not item.by_user else {}
    asked = [_one_line(text, _LINE) for text in prompts if text]
    subject = _one_line(next(iter(prompts), ""), _SUBJECT) or "Update files"
    body = [f"Asked: {text}" for text in asked[:_MOST_LINES]] if len(asked) > 1 else []
    paragraphs = [subject, "\n".join(body), "\n".join(actions[:_MOST_LINES])]
    if has_trailers:
        trailers = [*(f"Assisted-by: {_one_line(model, _LINE)}" for model in models), f"Session: {state.session_id}"]
        paragraphs.append("\n".join(trailers))
    return [part for part in paragraphs if part]


def _last_committed(state: SessionState, committed: Mapping[str, str | None]) -> dict[str, int]:
    """Return the number of the last action that left each file as it is in the last commit."""
    return {
        name: item.number
        for item in state.items
        if isinstance(item, ActionItem)
        for file in item.files
        if (name := os.path.relpath(file.path, state.workspace)) in committed
        and not file.cut
        and file.after == committed[name]
    }


def _changed(item: ActionItem, workspace: str, files: Collection[str], last: Mapping[str, int]) -> Iterator[str]:
    for file in item.files:
        name = os.path.relpath(file.path, workspace)
        if name in files and item.number > last.get(name, -1):
            yield visible_path(short_path(file.path, workspace))


def _one_line(text: str, width: int) -> str:
    return without_secrets(first_line(text.strip(), width, revealed))
