"""The tool `edit_file`: a model merges a draft into a file; offered only if there is a model to ask."""

from __future__ import annotations

import hashlib
import json
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, TypeVar

from pydantic import Field

from workbench.files.text_file import EditorError, why_unusable
from workbench.lazy_pattern import lazy_pattern
from workbench.text import well_formed
from workbench.tools.blob_store import BlobStore
from workbench.tools.context import (
    Answer,
    Completion,
    CompletionError,
    ConversationState,
    merges_changes,
    state_directory_of,
    workspace_of,
)
from workbench.tools.effects import AssessmentContext, Effect, TouchesFile
from workbench.tools.executor import FileChange, ToolExecutor
from workbench.tools.schema import Action, Observation
from workbench.tools.str_replace_editor.edits import Edited, insert_after, line_count, replace_lines
from workbench.tools.str_replace_editor.files import Files, Plan
from workbench.tools.str_replace_editor.view import show_change
from workbench.tools.tool import DeclaredTool, ToolAnnotations, ToolDefinition

MAX_LINES = 300
"""The most lines that one call may rewrite."""

_DESCRIPTION = f"""Rewrite a range of lines of a text file by a draft: a model merges your draft with the lines.

Write in `content` how lines `start` to `end` should read. Where lines stay as they are you may omit them and put a
comment in their place, such as `# ... existing code ...`; keep a line or two around each change, so that its place is
clear. Indent the draft as the file is indented.

* The range starts at 1 and includes both ends; `end` = -1 is the end of the file. At most {MAX_LINES} lines: view the
  file and give the part that changes.
* `start` = -1 adds `content` at the end of the file, as it is. So it is for a file that does not exist yet.
* The result shows what changed; `undo_edit` of str_replace_editor undoes it.

For a small exact change str_replace is quicker. The path is absolute."""
_SHORT = f"""Rewrite lines `start` to `end` of a file (at most {MAX_LINES}) by a draft in `content`; a comment like
`# ... existing code ...` may stand for lines that stay. `start` = -1 adds to the end. The path is absolute."""


class EditFileAction(Action):
    """A draft of a range of lines."""

    path: str = Field(description="The file, as an absolute path.")
    content: str = Field(description="How the lines should read; comments may stand for parts that stay.")
    start: int = Field(1, description="The first line of the range, counted from 1; -1 adds to the end of the file.")
    end: int = Field(-1, description="The last line of the range; -1 is the end of the file.")


class EditFileObservation(Observation):
    """The change to the file, and the cost of the model call that merged the draft (tokens, US dollars)."""

    path: str | None = None
    prev_exist: bool = True
    old_content: str | None = None
    new_content: str | None = None
    model: str = ""
    cost: float | None = None
    input_tokens: int | None = None
    output_tokens: int | None = None


class LLMBasedFileEditTool(DeclaredTool[EditFileAction, EditFileObservation]):
    """Edits files by draft; an editor with the same `state_dir` can undo the edits."""

    name = "edit_file"
    description = _DESCRIPTION
    short_description = _SHORT
    action_type = EditFileAction
    observation_type = EditFileObservation
    annotations = ToolAnnotations.writing("Edit by draft")

    def __init__(
        self,
        complete: Completion,
        workspace: str | None = None,
        state_dir: Path | None = None,
        *,
        merges: bool = False,
    ) -> None:
        super().__init__(EditFileExecutor(complete, workspace or str(Path.cwd()), state_dir, merges=merges))

    def assess(self, arguments: Mapping[str, Any], context: AssessmentContext) -> Sequence[Effect]:
        """Return the effect: an edit of the file."""
        return (TouchesFile("edit", str(arguments.get("path", ""))),)

    @classmethod
    def create(cls, conv_state: ConversationState, **params: Any) -> Sequence[ToolDefinition]:
        """Return the tool for a session; nothing if the session has no model to ask."""
        if (complete := getattr(conv_state, "complete", None)) is None:
            return ()
        defaults = {
            "complete": complete,
            "workspace": workspace_of(conv_state),
            "state_dir": state_directory_of(conv_state),
            "merges": merges_changes(conv_state),
        }
        return (cls(**{**defaults, **params}),)


_OPEN, _CLOSE = "<merged>", "</merged>"
_FENCED = lazy_pattern(r"\A\s*(`{3,}|~{3,})[^\n`]*\n(.*?)\n?\1\s*\Z", re.DOTALL)
_COMMENT = r"^\s*(?:#|//|/\*|<!--|--|;|%|\{/\*|\(\*|\"|')+\s*"
_PLACEHOLDER = lazy_pattern(
    _COMMENT + r"(?:(?:\.\.\.|…)|.*\b(?:existing|unchanged|remaining|rest of|stays?|same)\b.*(?:\.\.\.|…))",
    re.IGNORECASE,
)
_NOTHING = "Nothing was changed. Call again with a smaller range, or use str_replace."

_PROMPT = """Merge a draft into a part of the file {path}. Be exact: add no comments of your own and no improvements.

The part as it is:
<part>
{original}
</part>

The draft of how it should read:
<draft>
{draft}
</draft>

Where the draft has a comment that stands for lines it omits (such as "... existing code ..."), put those lines of
the part, word for word. Everything else becomes what the draft says. Lines of the part before and after what the draft
mentions stay. Keep the indentation of the part. Leave nothing out and shorten nothing.

Answer with the whole new part between <merged> and </merged>, each of them on a line of its own, and nothing else."""


@dataclass(frozen=True)
class MergeRequest:
    """The lines that a draft replaces, and the prompt that asks a model to merge them."""

    first: int
    last: int
    original: str
    draft: str
    prompt: str

    @classmethod
    def about(cls, action: EditFileAction, text: str) -> MergeRequest:
        """Return the request for an action on this text. Raises EditorError for an invalid or too large range."""
        first, last = _range(action, line_count(text))
        original = "\n".join(text.replace("\r\n", "\n").split("\n")[first - 1 : last])
        prompt = _PROMPT.format(path=action.path, original=original, draft=action.content)
        return cls(first, last, original, action.content, well_formed(prompt))

    def applied(self, text: str, answer: str) -> Edited:
        """Return the text with the answer applied. Raises EditorError for an empty or incomplete answer."""
        return replace_lines(text, self.first, self.last, self._merged(answer))

    def _merged(self, answer: str) -> str:
        """Return the new lines, without the last newline."""
        body = _body(answer)
        fenced = _FENCED.match(body)
        if fenced and not _FENCED.match(self.original) and not _FENCED.match(self.draft):
            body = fenced.group(2)
        if not body.strip():
            raise EditorError(f"The model that merges drafts answered with nothing. {_NOTHING}")
        _check_whole(body, self.original)
        return body


def check_complete(draft: str) -> None:
    """Raise EditorError if a text that is used verbatim contains a placeholder for omitted lines."""
    _check_whole(draft, "")


def _range(action: EditFileAction, count: int) -> tuple[int, int]:
    """Return the first and the last line. Raises EditorError for an invalid or too large range."""
    first, last = action.start, count if action.end == -1 else min(action.end, count)
    if not 1 <= first <= max(count, 1):
        raise EditorError(f"`start` is {first}, but the file has {count} lines: use 1 to {count}, or -1 to add to it.")
    if action.end != -1 and action.end < first:
        raise EditorError(f"`end` is {action.end}, before `start` ({first}). Use -1 for the end of the file.")
    if last - first + 1 > MAX_LINES:
        raise EditorError(
            f"Lines {first} to {last} are {last - first + 1} lines; at most {MAX_LINES} can be rewritten at once. View "
            "the file, then give `start` and `end` around the part that changes, in several calls where it must be."
        )
    return first, last


def _body(answer: str) -> str:
    start = answer.find(_OPEN)
    if start < 0:
        if _FENCED.match(answer):
            return answer
        raise EditorError(f"The model that merges drafts gave no merged text. {_NOTHING}")
    end = answer.rfind(_CLOSE)
    if end < start:
        raise EditorError(f"The answer of the model that merges drafts broke off. {_NOTHING}")
    body = answer[start + len(_OPEN) : end]
    return body.removeprefix("\n").removesuffix("\n")


def _check_whole(text: str, original: str) -> None:
    """Raise EditorError for placeholder lines in the new text that the old one does not have."""
    placeholders = _placeholders(text) - _placeholders(original)
    if placeholders:
        line = next(iter(placeholders))
        raise EditorError(f"Omitted lines were not filled in: the new text still contains {line!r}. {_NOTHING}")


def _placeholders(text: str) -> Counter[str]:
    return Counter(line.strip() for line in text.splitlines() if _PLACEHOLDER.match(line))


_NAME = "drafts.json"
_MOST = 8


class Drafts:
    """The last answers of the model, at most `_MOST`, by the hash of the prompt; stored for the session."""

    def __init__(self, blobs: BlobStore) -> None:
        self._blobs = blobs
        self._answers = _loaded(blobs.get(_NAME))

    def get(self, prompt: str) -> Answer | None:
        """Return the answer to exactly this prompt, or None."""
        return self._answers.get(_key(prompt))

    def put(self, prompt: str, answer: Answer) -> None:
        """Store an answer; drop the oldest one if there are too many."""
        self._answers[_key(prompt)] = answer
        for name in list(self._answers)[:-_MOST]:
            del self._answers[name]
        self._save()

    def pop(self, prompt: str) -> Answer | None:
        """Remove and return the answer, or return None."""
        answer = self._answers.pop(_key(prompt), None)
        if answer is not None:
            self._save()
        return answer

    def _save(self) -> None:
        # If this fails, the model is called again after a restart.
        with suppress(OSError):
            entries = {name: asdict(answer) for name, answer in self._answers.items()}
            self._blobs.put(_NAME, json.dumps(entries).encode())


def _key(prompt: str) -> str:
    return hashlib.sha256(prompt.encode("utf-8", "surrogatepass")).hexdigest()


def _loaded(stored: bytes | None) -> dict[str, Answer]:
    try:
        return {name: Answer(**entry) for name, entry in json.loads(stored or b"{}").items()}
    # The file is damaged: the model is called again.
    except (ValueError, TypeError, AttributeError):
        return {}


T = TypeVar("T")


class _NotAsked(Exception):
    """The change cannot be computed before the model has answered `prompt`."""

    def __init__(self, prompt: str) -> None:
        super().__init__(prompt)
        self.prompt = prompt


class EditFileExecutor(ToolExecutor[EditFileAction, EditFileObservation]):
    """Edits files in one session from drafts; tools with the same `state_dir` know what it has written."""

    def __init__(
        self, complete: Completion, workspace: str, state_dir: Path | None = None, *, merges: bool = False
    ) -> None:
        self._complete = complete
        self._files = Files(workspace, state_dir, merges=merges)
        self._drafts = Drafts(BlobStore(state_dir))

    def preparation(self, action: EditFileAction) -> Callable[[], EditFileObservation | None] | None:
        """Return a function that asks the model for the edit or reports why it is impossible; None if the edit needs no
        model.
        """
        try:
            self._from_stored(action, self._files.locate(action.path))
        except (_NotAsked, EditorError, OSError, ValueError):
            return lambda: _tried(action, lambda: self._prepared(action))
        return None

    def preview(self, action: EditFileAction) -> Sequence[FileChange]:
        """Return the file before and after; asks the model if necessary. Empty if the edit would be refused."""
        try:
            plan = self._plan(action, self._files.locate(action.path))
        except (EditorError, CompletionError, OSError, ValueError):
            return ()
        return (self._files.previewed(plan),)

    def __call__(self, action: EditFileAction) -> EditFileObservation:
        """Write the change that was previewed."""
        return _tried(action, lambda: self._written(action))

    def interrupt(self) -> None:
        """Cancel a running model call."""
        self._complete.interrupt()

    def _prepared(self, action: EditFileAction) -> None:
        self._plan(action, self._files.locate(action.path))

    def _written(self, action: EditFileAction) -> EditFileObservation:
        plan = self._plan(action, self._files.target(action.path))
        self._files.write(plan)
        is_merged = plan.before is not None and action.start != -1
        text = plan.stale.base if plan.stale else plan.before or ""
        prompt = MergeRequest.about(action, text).prompt if is_merged else ""
        return _report(action, plan, self._drafts.pop(prompt) or Answer(""))

    def _plan(self, action: EditFileAction, path: Path) -> Plan:
        """Return the change, asking the model if necessary. Raises EditorError, CompletionError, OSError."""
        try:
            return self._from_stored(action, path)
        except _NotAsked as missing:
            prompt = missing.prompt
        self._drafts.put(prompt, self._complete(prompt))
        try:
            return self._from_stored(action, path)
        except EditorError:
            # An unusable answer must not be used again.
            self._drafts.pop(prompt)
            raise

    def _from_stored(self, action: EditFileAction, path: Path) -> Plan:
        """Return the change from a stored answer. Raises _NotAsked, EditorError, OSError."""
        if not path.exists():
            check_complete(action.content)
            return self._files.creation(path, action.content)
        return self._files.edit(path, lambda text: self._edited(action, text))

    def _edited(self, action: EditFileAction, text: str) -> Edited:
        if action.start == -1:
            check_complete(action.content)
            return insert_after(text, line_count(text), action.content)
        request = MergeRequest.about(action, text)
        answer = self._drafts.get(request.prompt)
        if answer is None:
            raise _NotAsked(request.prompt)
        return request.applied(text, answer.text)


def _tried(action: EditFileAction, work: Callable[[], T]) -> T | EditFileObservation:
    """Return the result of `work`, or an observation with its error."""
    try:
        return work()
    except (EditorError, CompletionError) as error:
        message = str(error)
    except (OSError, ValueError) as error:
        message = why_unusable(action.path, error)
    return EditFileObservation.from_text(well_formed(message), is_error=True, path=action.path)


def _report(action: EditFileAction, plan: Plan, answer: Answer) -> EditFileObservation:
    done = f"Edited {action.path}. {show_change(plan.edited)}" if plan.edited else f"File created: {action.path}"
    return EditFileObservation.from_text(
        done,
        path=action.path,
        prev_exist=plan.before is not None,
        old_content=plan.before,
        new_content=plan.after,
        model=answer.model,
        cost=answer.cost,
        input_tokens=answer.input_tokens,
        output_tokens=answer.output_tokens,
    )
