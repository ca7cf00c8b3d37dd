"""Runs one attempt on a worker: it makes the workspace, drives the session, and checks what came of it."""

from __future__ import annotations

import logging
import os
import shutil
import socket
import time
import traceback
from contextlib import ExitStack, nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Final

from workbench.batch.answer_wait import AnswerWait
from workbench.batch.attempt import ERRORS, AttemptOutcome, Ending, TaskAttempt
from workbench.batch.attempt_files import AttemptFiles, Report, RunContext
from workbench.batch.attempt_progress import PROGRESS_FILE, ProgressWriter, Spending
from workbench.batch.attempt_screens import AttemptScreens
from workbench.batch.attempt_session import AttemptRun
from workbench.batch.commands import CommandRun, run_command
from workbench.batch.container_commands import command_in, every_host
from workbench.batch.disk_space import space_problem
from workbench.batch.model_rate import RatedModels, Turns
from workbench.batch.model_settings import with_model
from workbench.batch.workspaces import NoWorkspace, make_workspace
from workbench.config.locations import Locations
from workbench.config.modes import NEVER
from workbench.config.settings import Settings, load_settings
from workbench.errors import UsageError, WorkbenchError, describe_fault
from workbench.files.hidden_directories import hide_directory
from workbench.llm.litellm_setup import import_early
from workbench.llm.model import Cancel
from workbench.processes.launch import Launcher
from workbench.protocol.events import Event
from workbench.sandbox.container import Container
from workbench.sandbox.workspace_copy import WorkspaceCopy
from workbench.secrets.masker import MASKER
from workbench.session.session_factory import Listeners, OpenedSession, start_session
from workbench.session.session_names import new_id, session_path, socket_path, state_directory
from workbench.session.storage.store_files import delete_file
from workbench.session.toolset import Overrides
from workbench.telemetry.span import conversation_id, is_session_name
from workbench.text import first_line

logger = logging.getLogger(__name__)
_COMMAND_SECONDS: Final = 1_800.0
"""Time limit of setup and check of a task without `minutes`."""
_VARIABLES: Final = dict(os.environ)
"""The environment with which the process began; the first attempt removes keys from it."""
_PATCH: Final = "changes.patch"


def worker_name() -> str:
    """Return a name for this process that is unique among workers."""
    return f"{socket.gethostname()}:{os.getpid()}"


class AttemptRunner:
    """Runs one attempt: workspace, setup, session, patch, check."""

    def __init__(
        self,
        attempt: TaskAttempt,
        context: RunContext,
        files: AttemptFiles,
        cancel: Cancel,
        turns: Turns | None = None,
        *,
        archive: Path | None = None,
    ) -> None:
        """With `archive`, the workspace is unpacked from there; `turns` limits the rate of model calls."""
        self._attempt = attempt
        self._task = attempt.task
        self._context = context
        self._files = files
        self._cancel = cancel
        self._turns = turns
        self._archive = archive
        self._locations = replace(Locations.from_environment(), data=context.local_data)
        self._spending = Spending()
        self._wait = AnswerWait(context.answer_seconds, files.note_question)
        self._workspace_name = f"{context.nonce}-{attempt.key}"
        self._run_directory = Path(os.path.realpath(context.directory))
        self._started = time.time()
        self._run_seconds = 0.0
        self._workspace: Path | None = None
        self._session: Path | None = None
        self._check: CommandRun | None = None
        self._patch = b""

    def run(self) -> Report:
        """Run the attempt and return the report. Raises WorkbenchError or OSError if the worker itself fails."""
        # The checks of the tasks are in there, and what other attempts have changed.
        for directory in filter(None, (self._run_directory, self._context.shared_run)):
            hide_directory(directory)
        with ExitStack() as resources:
            ending, detail = self._run(resources)
        if ending in ERRORS and (problem := space_problem(self._context.written_directories)):
            if self._session is not None:
                delete_file(self._session)
            return Report(self._outcome("worker", f"the worker failed: {problem}"), worker_problem=problem)
        if self._patch:
            self._files.path(_PATCH).write_bytes(self._patch)
        return self._files.report(self._outcome(ending, detail), self._session)

    def _run(self, resources: ExitStack) -> tuple[Ending, str]:
        try:
            copy = make_workspace(self._locations, self._task, self._workspace_name, self._run_directory, self._archive)
        except NoWorkspace as error:
            return "workspace", str(error)
        self._workspace = copy.directory
        if not self._context.keeps_workspaces:
            resources.callback(copy.remove)
        if self._task.setup and not self._has_container and (failed := self._failed_setup(copy)):
            return failed
        if self._cancel.is_set:
            return "interrupted", ""
        return self._in_session(copy, resources)

    @property
    def _has_container(self) -> bool:
        """Whether the task or a flag names a container, in which the setup runs too."""
        return bool(self._task.image or self._context.flags.get("container"))

    def _failed_setup(self, copy: WorkspaceCopy, opened: OpenedSession | None = None) -> tuple[Ending, str] | None:
        """Run the setup, in the container of the session if there is one; return how it failed, if it did."""
        container = opened.container if opened is not None else None
        with every_host(container) if container is not None else nullcontext():
            setup = self._command("setup", self._task.setup, copy, container=container)
        if not setup.ok:
            return ("interrupted" if self._cancel.is_set else "setup"), str(setup)
        copy.record(is_durable=False)  # what the setup has changed is not the agent's
        return None

    def _in_session(self, copy: WorkspaceCopy, resources: ExitStack) -> tuple[Ending, str]:
        screens = AttemptScreens(self._wait)
        resources.callback(screens.close)
        try:
            opened = self._open(copy, screens)
        except WorkbenchError as error:  # such as a model without a key
            return "error", str(error)
        resources.callback(self._leave, opened)
        if self._task.setup and self._has_container and (failed := self._failed_setup(copy, opened)):
            self._session = None  # it is empty, so its file is deleted
            return failed
        began = time.monotonic()
        run = AttemptRun(opened, self._cancel, self._wait)
        try:
            ending, detail = run.drive(self._task.prompt, self._task.minutes * 60)
        except Exception as error:  # as in an engine, a fault ends this run and no other
            logger.exception("a step failed")
            self._files.path("fault.log").write_text(MASKER.masked(traceback.format_exc()), encoding="utf-8")
            ending, detail = "error", describe_fault(error)
            opened.fail(detail)
        self._run_seconds = time.monotonic() - began - self._wait.waited
        try:
            self._patch = copy.patch()
        except WorkbenchError as error:
            ending, detail = "error", str(error)
        if self._task.check and ending != "interrupted":
            launcher = opened.sandbox.launcher if opened.container is None else None
            self._check = self._command("check", self._task.check, copy, sandbox=launcher, container=opened.container)
        if ending not in ("finished", "waiting"):
            return ending, detail or self._spending.detail
        return ending, f"check: {self._check}" if self._check is not None and not self._check.ok else ""

    def _open(self, copy: WorkspaceCopy, screens: AttemptScreens) -> OpenedSession:
        settings = self._settings()
        import_early(settings.profile(self._attempt.model))
        models = RatedModels(settings, self._turns, _VARIABLES)

        progress = ProgressWriter(self._files.path(PROGRESS_FILE), self._spending)

        def on_event(event: Event) -> None:
            progress.on_event(event)
            screens.on_event(event)

        listeners: Listeners = {
            "on_event": on_event,
            "on_live": screens.on_live,
            "has_user": self._wait.has_user,
            "overrides": Overrides(models=models, labels=self._labels()),
        }
        # The words may be the same for hundreds of attempts, and then the random part sooner or later is too.
        session_id = f"{new_id(f'{self._task.id} {self._attempt.model}')}-{self._attempt.digest}"
        self._files.note_session(session_id)
        opened = start_session(self._locations, settings, copy.directory, session_id, **listeners)
        self._session = session_path(self._locations, session_id)
        screens.serve(opened, socket_path(self._locations, session_id))
        return opened

    def _labels(self) -> dict[str, str | int]:
        """Return the attributes by which spans of the attempt can be selected."""
        task, model, number = self._attempt.names
        # The name of a race contains words of its prompt, as the ID of a session does.
        name = self._run_directory.name
        run = conversation_id(name) if is_session_name(name) else name
        return {
            "ohw.batch.run": run,
            "ohw.batch.run.id": self._context.nonce,
            "ohw.batch.task": task,
            "ohw.batch.model": model,
            "ohw.batch.attempt": number,
        }

    def _settings(self) -> Settings:
        task = self._task
        own = {
            "mode": task.mode or None,
            "max_steps": task.max_steps or None,
            "token_limit": task.max_tokens or None,
            "max_cost": task.max_cost or None,
            "container": task.image or None,
        }
        flags = {**self._context.flags, **{name: value for name, value in own.items() if value is not None}}
        of_user = load_settings(self._locations, _VARIABLES, also_written=self._context.settings, **flags)
        settings = with_model(of_user, self._attempt.model, self._context.command_model)
        if may_leave_unasked(settings):
            raise UsageError(f"the mode {NEVER} needs an image, or a sandbox that is not optional")
        return settings

    def _leave(self, opened: OpenedSession) -> None:
        """Close the session; what its tools have stored besides the log is not needed any more."""
        opened.close()
        shutil.rmtree(state_directory(self._locations, opened.id), ignore_errors=True)

    def _command(
        self,
        name: str,
        command: str,
        copy: WorkspaceCopy,
        *,
        sandbox: Launcher | None = None,
        container: Container | None = None,
    ) -> CommandRun:
        try:
            words = command_in(container, command, copy.directory, self._task.id) if container is not None else command
        except OSError as error:
            return CommandRun(None, error.strerror or str(error))
        return run_command(
            name,
            words,
            copy.directory,
            self._cancel,
            seconds=self._task.minutes * 60 or _COMMAND_SECONDS,
            log=self._files.path(f"{name}.log"),
            sandbox=sandbox,
            env={"OHW_TASK": self._task.id},
            title=command,
        )

    def _outcome(self, ending: Ending, detail: str) -> AttemptOutcome:
        spent, check = self._spending, self._check
        task, model, number = self._attempt.names
        return AttemptOutcome(
            task,
            model,
            number,
            ending,
            MASKER.masked(first_line(detail, 300)),
            solved=check.ok if check is not None else None,
            check_status=check.status if check is not None else None,
            steps=spent.steps,
            input=spent.input,
            cached=spent.cached,
            output=spent.output,
            cost=spent.cost,
            unpriced=spent.unpriced,
            seconds=round(self._run_seconds, 3),
            total_seconds=round(time.time() - self._started, 3),
            started=self._started,
            patch=self._files.relative(_PATCH) if self._patch else "",
            patch_lines=_changed_lines(self._patch),
            session=self._session.stem if self._session is not None else "",
            workspace=str(self._workspace) if self._context.keeps_workspaces and self._workspace else "",
            worker=worker_name(),
        )


def may_leave_unasked(settings: Settings) -> bool:
    """Return whether actions would run without asking and without anything that always confines them."""
    return settings.mode == NEVER and settings.sandbox in ("off", "auto", "partial") and not settings.container


def _changed_lines(patch: bytes) -> int:
    """Return how many lines a patch adds and removes."""
    lines = patch.split(b"\n")
    return sum(line[:1] in (b"+", b"-") and line[:4] not in (b"+++ ", b"--- ") for line in lines)
