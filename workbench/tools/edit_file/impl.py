"""Runs edits by draft: asks the model once, keeps its answer, and writes exactly what was shown."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypeVar

from workbench.files.text_file import EditorError, why_unusable
from workbench.text import well_formed
from workbench.tools.completion import Answer, Completion, CompletionError
from workbench.tools.edit_file.definition import EditFileAction, EditFileObservation
from workbench.tools.edit_file.drafts import Drafts
from workbench.tools.edit_file.merging import Question, check_complete
from workbench.tools.executor import FileChange, ToolExecutor
from workbench.tools.kept import Kept
from workbench.tools.str_replace_editor.edits import Edited, insert_after, line_count
from workbench.tools.str_replace_editor.files import Files, Plan
from workbench.tools.str_replace_editor.view import show_change

T = TypeVar("T")


class _NotAsked(Exception):
    """The model has to be asked this before the change is known."""

    def __init__(self, prompt: str) -> None:
        super().__init__(prompt)
        self.prompt = prompt


class EditFileExecutor(ToolExecutor[EditFileAction, EditFileObservation]):
    """Edits by draft in one session; tools that share its `state_dir` know what it wrote."""

    def __init__(
        self, complete: Completion, workspace: str, state_dir: Path | None = None, *, merges: bool = False
    ) -> None:
        self._complete = complete
        self._files = Files(workspace, state_dir, merges=merges)
        self._drafts = Drafts(Kept(state_dir))

    def preparation(self, action: EditFileAction) -> Callable[[], EditFileObservation | None] | None:
        """Asks the model, or says why the edit cannot be made; None when the change is known."""
        try:
            self._known(action, self._files.locate(action.path))
        except (_NotAsked, EditorError, OSError, ValueError):
            return lambda: _tried(action, lambda: self._prepared(action))
        return None

    def preview(self, action: EditFileAction) -> Sequence[FileChange]:
        """The file before and after; asks the model when that was not done. Empty when it would be refused."""
        try:
            plan = self._plan(action, self._files.locate(action.path))
        except (EditorError, CompletionError, OSError, ValueError):
            return ()
        return (self._files.previewed(plan),)

    def __call__(self, action: EditFileAction) -> EditFileObservation:
        """Write the change that was shown."""
        return _tried(action, lambda: self._written(action))

    def interrupt(self) -> None:
        """End a running call of the model."""
        self._complete.interrupt()

    def _prepared(self, action: EditFileAction) -> None:
        self._plan(action, self._files.locate(action.path))

    def _written(self, action: EditFileAction) -> EditFileObservation:
        plan = self._plan(action, self._files.target(action.path))
        self._files.write(plan)
        is_merged = plan.before is not None and action.start != -1
        text = plan.stale.seen if plan.stale else plan.before or ""
        prompt = Question.about(action, text).prompt if is_merged else ""
        return _report(action, plan, self._drafts.take(prompt) or Answer(""))

    def _plan(self, action: EditFileAction, path: Path) -> Plan:
        """The change; the model is asked when it was not before. Raises EditorError, CompletionError, OSError."""
        try:
            return self._known(action, path)
        except _NotAsked as missing:
            prompt = missing.prompt
        self._drafts.put(prompt, self._complete(prompt))
        try:
            return self._known(action, path)
        except EditorError:
            self._drafts.take(prompt)  # a wrong answer is not used again
            raise

    def _known(self, action: EditFileAction, path: Path) -> Plan:
        """The change, if it is known without the model; raises _NotAsked, EditorError, OSError."""
        if not path.exists():
            check_complete(action.content)
            return self._files.creation(path, action.content)
        return self._files.edit(path, lambda text: self._edited(action, text))

    def _edited(self, action: EditFileAction, text: str) -> Edited:
        if action.start == -1:
            check_complete(action.content)
            return insert_after(text, line_count(text), action.content)
        question = Question.about(action, text)
        answer = self._drafts.get(question.prompt)
        if answer is None:
            raise _NotAsked(question.prompt)
        return question.applied(text, answer.text)


def _tried(action: EditFileAction, work: Callable[[], T]) -> T | EditFileObservation:
    """What the work gives, or the observation that says why it could not be done."""
    try:
        return work()
    except (EditorError, CompletionError) as error:
        said = str(error)
    except (OSError, ValueError) as error:
        said = why_unusable(action.path, error)
    return EditFileObservation.from_text(well_formed(said), is_error=True, path=action.path)


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
