"""Kills a session at random instants and checks what is left: `python -m tests.bench.kill_bench [COUNT] [SEED]`.

A round plays a scripted session in the real screen in a pseudo terminal: commands with background and detached
children, edits, one question that is approved and one that is rejected. One or two processes are killed with SIGKILL
(engine, screen, both, supervisor, shell, a process group, all there are), each after a random event; then the session
is resumed and brought to its end. The first kill of a round takes the next kind in turn, so that a campaign of some
length meets all of them. The promises that are checked:

- every event that was seen in the log is still there, in order; no session is damaged;
- no command ran twice, none without a recorded decision, none that was rejected;
- a screen that was not killed gives the terminal back;
- no process and no file of ours is left after the next start.

Prints one line per violation and a summary; the exit code is 1 where there was a violation, or where a kind of kill
that was due was never hit.
"""

from __future__ import annotations

import contextlib
import json
import os
import random
import shutil
import signal
import sqlite3
import sys
import tempfile
import termios
import threading
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil

from tests.bench.measure import Measure
from tests.bench.terminal_bench import environment
from tests.sandbox import Sandbox, bash, finish
from tests.terminal.terminal import Terminal

KINDS = ("engine", "screen", "both", "supervisor", "shell", "screen group", "engine group", "all")
_APPROVED, _REJECTED = "q5", "q8"
"""The marks of the commands that need an approval."""
_END, _OVER = "All is done.", "My script is over"
"""The last text of the script, and the text of the scripted model after it."""
_STOPPED = "The agent process stopped"
"""Shown by a screen that may not have received the question before its engine died."""
_EVENTS = 74
"""A whole session has a few more events, so a kill after any of these hits a running session."""
_PATIENCE = 45.0
_GONE = 30.0
"""Seconds after which no process may be left: an engine may finish its run, or wait 20 s for its first screen."""

Row = tuple[int, str, str]
"""Number, kind and JSON of an event."""


def turns() -> list[dict[str, Any]]:
    """Return the turns of the scripted model; each command writes its own mark."""
    return [
        bash(
            "echo a1 >> marks; (setsid sleep 300 &); nohup sleep 300 > /dev/null 2>&1 & mkdir -p build; touch build/x"
        ),
        _edit("create", "notes.txt", file_text="one\ntwo\n"),
        bash("for i in 1 2 3 4; do sleep 0.05; echo $i; done; echo a3 >> marks; (trap '' TERM HUP; sleep 300) &"),
        _edit("str_replace", "notes.txt", old_str="two", new_str="three"),
        bash(f"echo {_APPROVED} >> marks; rm -rf build", risk="HIGH"),
        bash("seq 1 20000; echo a6 >> marks; git add -A; git commit -qm x"),
        _edit("create", "data.txt", file_text="0123456789abcdef\n" * 5_000),
        bash(f"echo {_REJECTED} > rejected; rm -f README", risk="HIGH"),
        bash("sleep 0.2; echo a9 >> marks; head -c 300000 data.txt > more.txt"),
        _edit("insert", "notes.txt", insert_line=1, new_str="between"),
        finish(_END),
    ]


def _edit(command: str, name: str, **more: Any) -> dict[str, Any]:
    arguments = {"command": command, "path": f"{{workspace}}/{name}", **more}
    return {"tool": "str_replace_editor", "risk": "LOW", "arguments": arguments}


class Log:
    """The events of the only session of a sandbox, as another process reads them; keeps every event ever read."""

    def __init__(self, sandbox: Sandbox) -> None:
        self._directory = sandbox.locations.sessions
        self.seen: dict[int, Row] = {}
        self.violations: list[str] = []

    @property
    def session(self) -> str:
        """The id of the session, empty when there is none."""
        return next((path.stem for path in self._directory.glob("*.session")), "")

    def read(self) -> list[Row]:
        """Return all events; record a violation if one is missing or was changed."""
        path = self._directory / f"{self.session}.session"
        try:
            with contextlib.closing(sqlite3.connect(f"{path.as_uri()}?mode=ro", uri=True, timeout=5)) as db:
                rows: list[Row] = db.execute("SELECT seq, kind, json FROM events ORDER BY seq").fetchall()
        except sqlite3.Error:
            return []
        if [row[0] for row in rows] != list(range(1, len(rows) + 1)):
            self.violations.append(f"the numbers of events are not in order: {[row[0] for row in rows]}")
        logged = {row[0]: row for row in rows}
        if len(self.seen) == 1:
            self.seen.clear()  # a session that has only begun is deleted when its engine ends, and another one begins
        lost = [row for seq, row in self.seen.items() if logged.get(seq) != row]
        if lost:
            self.violations.append(f"events are lost or changed: {[row[:2] for row in lost]}")
        self.seen |= logged
        return rows

    def last(self) -> int:
        """The number of events."""
        path = self._directory / f"{self.session}.session"
        try:
            with contextlib.closing(sqlite3.connect(f"{path.as_uri()}?mode=ro", uri=True, timeout=5)) as db:
                return int(db.execute("SELECT coalesce(max(seq), 0) FROM events").fetchone()[0])
        except sqlite3.Error:
            return 0

    def question(self) -> str:
        """The mark of the command that waits for a decision, empty when none does."""
        for mark in (_APPROVED, _REJECTED):
            kinds = [kind for _, kind, _ in self._of(mark)]
            if "action_assessed" in kinds and not {"action_decided", "action_observed", "action_abandoned"} & set(
                kinds
            ):
                return mark
        return ""

    def has_ended(self) -> bool:
        """Return whether the agent has finished, or cannot continue because its last call was killed."""
        return any(
            (kind == "run_ended" and json.loads(line)["reason"] == "finished")
            or (kind == "model_responded" and _OVER in line)
            for _, kind, line in self.read()
        )

    def undecided(self, mark: str) -> str:
        """Return what is wrong with the records of a command that ran."""
        kinds = [kind for _, kind, _ in self._of(mark)]
        if "action_started" not in kinds:
            return f"{mark} ran without a record that it started: {kinds}"
        if "action_decided" not in kinds[: kinds.index("action_started")]:
            return f"{mark} ran undecided: {kinds}"
        return ""

    def _of(self, mark: str) -> list[Row]:
        """Return the events of the most recently proposed action with this mark."""
        rows = self.read()
        asked = [json.loads(line) for _, kind, line in rows if kind == "action_proposed" and f"echo {mark} " in line]
        expected = {each["action_id"] for each in asked}
        return [row for row in rows if json.loads(row[2]).get("action_id") in expected]


class Round:
    """A session that is killed and resumed; `play` returns the violations."""

    def __init__(self, directory: Path, seed: int) -> None:
        self.chance = random.Random(seed)
        self._first_kind = KINDS[seed % len(KINDS)]
        self.sandbox = _sandbox(directory)
        self.log = Log(self.sandbox)
        self.kills: list[str] = []
        self.violations = self.log.violations
        self.approved = False
        self._terminal: Terminal
        self._has_died = threading.Event()

    def play(self) -> list[str]:
        """Kill once or twice, then bring the session to its end and check what is left."""
        for kind in (self._first_kind, self.chance.choice(KINDS))[: self.chance.choice((1, 1, 2))]:
            self._watch(kind)
            # after "all", no process is left to end what was just being started; the next start does that
            if self.chance.random() < 0.5 and kind != "all":
                self._wait_until_gone()
        self._watch("")
        self._wait_until_gone()
        self._check_marks()
        self._check_files()
        return self.violations

    def _watch(self, kind: str) -> None:
        """Run the screen until the session has ended, and kill in the meantime."""
        with Terminal(self._arguments(), 110, 34, self.sandbox.env) as self._terminal:
            before = termios.tcgetattr(self._terminal.process.child_fd)
            self._has_died.clear()
            at = self._moment()
            killer = threading.Thread(target=self._kill_at, args=(kind, *at), daemon=True)
            if kind:
                killer.start()
            self._drive()
            self._has_died.set()
            if kind:
                killer.join()
            if self._terminal.process.isalive():
                self._leave(before)
        self.log.read()

    def _arguments(self) -> list[str]:
        # A session that has only begun is not listed, and the next start deletes it.
        if self.log.session and self.log.last() > 1:
            return ["resume", self.log.session]
        model = self.sandbox.script(*turns())
        return ["go", "--model", model, "--mode", "high", "--workspace", str(self.sandbox.project)]

    def _moment(self) -> tuple[int, float]:
        """Return the event after which to kill, and the pause after that event."""
        first = self.log.last() if self.log.session else 0
        if self.chance.random() < 0.15:
            return 0, self.chance.uniform(0.1, 3.0)
        return self.chance.randint(first + 1, max(_EVENTS, first + 2)), min(1.0, self.chance.expovariate(1 / 0.04))

    def _kill_at(self, kind: str, event: int, pause: float) -> None:
        watched = Log(self.sandbox)
        while event and not self._has_died.is_set() and watched.last() < event:
            time.sleep(0.003)
        time.sleep(pause)
        # early in a session there is no shell yet
        while not (victims := self._victims(kind)) and not self._has_died.is_set():
            time.sleep(0.003)
        if self._has_died.is_set():
            return
        watched.read()
        for pid in victims:
            with contextlib.suppress(OSError):
                os.kill(pid, signal.SIGKILL)
        self.kills.append(kind)
        self.violations += watched.violations
        self.log.seen |= watched.seen

    def _victims(self, kind: str) -> list[int]:
        screen, processes = self._terminal.pid, self.sandbox.processes()
        engines = [each.pid for each in processes if "workbench.engine" in _words(each)]
        supervisors = [each for each in processes if "processes.shell_supervisor" in " ".join(_words(each))]
        shells = [child.pid for each in supervisors for child in _children(each) if _leads_session(child.pid)]
        return {
            "engine": engines,
            "screen": [screen],
            "both": [*engines, screen],
            "supervisor": [each.pid for each in supervisors],
            "shell": shells,
            "screen group": [each.pid for each in processes if _group(each) == _group_of(screen)],
            "engine group": [each.pid for each in processes if _group(each) in map(_group_of, engines)],
            "all": [each.pid for each in processes],
        }[kind]

    def _drive(self) -> None:
        """Answer questions and send messages until the run has ended or the screen is dead."""
        until = quiet_since = time.monotonic()
        until += _PATIENCE
        last = -1
        while self._terminal.process.isalive() and time.monotonic() < until:
            text = self._terminal.text()
            if self.log.has_ended() and "Timeline" in text:
                return
            count = self.log.last()
            if count != last or not count or self._reacts(text, time.monotonic() - quiet_since):
                last, quiet_since = count, time.monotonic()
            time.sleep(0.05)
        if self._terminal.process.isalive():
            self.violations.append(f"no end in {_PATIENCE} s; the terminal shows:\n{self._terminal.text()}")

    def _reacts(self, text: str, quiet: float) -> bool:
        """Do what a user would do with what is on the screen; return whether there was anything to do."""
        question = self.log.question()
        if "Enter Reject" in text:
            self._terminal.press("enter")
        elif "y Approve" in text and question and f"echo {question} " in text:
            self._answer(question)
        elif question and "approval · F8" in text:
            self._terminal.press("f8")
            time.sleep(0.3)
        elif quiet > 2.5 and (not question or _STOPPED in text) and "y Approve" not in text:
            self._go_on()
        else:
            return False
        return True

    def _answer(self, question: str) -> None:
        time.sleep(self.chance.uniform(0.3, 1.0))
        if question == _APPROVED:
            self.approved = True
        self._terminal.press("y" if question == _APPROVED else "n")
        time.sleep(0.3)
        if "Enter Reject" in self._terminal.text():
            self._terminal.press("enter")

    def _go_on(self) -> None:
        """Send the next message when nothing happens any more: that starts a new engine if the old one died."""
        self._terminal.type("go on")
        time.sleep(0.3)
        self._terminal.text()
        self._terminal.press("enter")

    def _leave(self, before: list[Any]) -> None:
        """Quit the screen and check the terminal."""
        time.sleep(0.5)
        self._terminal.press("ctrl+q")
        try:
            code = self._terminal.wait_exit(15)
        except AssertionError as error:
            self.violations.append(f"ctrl+q did not end the screen: {error}")
            return
        if code == 128 + signal.SIGKILL:  # the kill came just before the key
            return
        now = termios.tcgetattr(self._terminal.process.child_fd)
        if self._terminal.screen.is_alternate or now[3] != before[3] or "Traceback" in self._terminal.text():
            self.violations.append(f"the terminal is not restored (exit code {code}):\n{self._terminal.text()}")
        if code:
            self.violations.append(f"the screen ended with {code}:\n{self._terminal.text()}")

    def _wait_until_gone(self) -> None:
        """Wait until all processes have ended on their own."""
        until = time.monotonic() + _GONE
        while (left := self.sandbox.processes()) and time.monotonic() < until:
            time.sleep(0.1)
        if left:
            processes = [(each.pid, each.ppid(), " ".join(_words(each))[:90]) for each in left]
            self.violations.append(f"processes are left: {processes}")
            for each in left:
                with contextlib.suppress(psutil.Error):
                    each.kill()

    def _check_marks(self) -> None:
        path = self.sandbox.project / "marks"
        marks = Counter(path.read_text().split() if path.exists() else ())
        self.violations += [f"{mark} ran {count} times" for mark, count in marks.items() if count > 1]
        self.violations += [wrong for mark in marks if (wrong := self.log.undecided(mark))]
        if (self.sandbox.project / "rejected").exists() or (_APPROVED in marks and not self.approved):
            self.violations.append(f"a command ran that was not approved: {dict(marks)}")

    def _check_files(self) -> None:
        left = sorted(str(path.relative_to(self.sandbox.home.parent)) for path in _left_files(self.sandbox))
        if left:
            self.violations.append(f"files are left: {left}")
        listing = self.sandbox.ohw("sessions").stdout
        if "damaged" in listing or len(list(self.sandbox.locations.sessions.glob("*.session"))) != 1:
            self.violations.append(f"sessions: {listing}")


def _left_files(sandbox: Sandbox) -> Iterator[Path]:
    """Yield files of ours that belong to no running process."""
    ours = {".git", "marks", "notes.txt", "data.txt", "more.txt", "build", "README"}
    yield from (path for path in sandbox.project.iterdir() if path.name not in ours)
    yield from Path(sandbox.env["TMPDIR"]).iterdir()
    data = sandbox.locations.data
    for pattern in ("**/*.tmp", "**/index-*-kept-*", "**/index-*.lock", "sessions/*.lock"):
        yield from data.glob(pattern)
    yield from sandbox.locations.runtime.glob("**/*.sock")


def _sandbox(directory: Path) -> Sandbox:
    home, project = directory / "home", directory / "project"
    for each in (home, project, directory / "tmp"):
        each.mkdir()
    # the path of a socket must be short
    env = environment(home) | {"TMPDIR": str(directory / "tmp"), "OHW_SCRIPT_PACE": "0", "TEXTUAL_ANIMATIONS": "none"}
    for name in ("GIT_AUTHOR", "GIT_COMMITTER"):
        env |= {f"{name}_NAME": "A", f"{name}_EMAIL": "a@b"}
    (project / "README").write_text("A project.\n")
    sandbox = Sandbox(home, project, env)
    os.system(f"git -C {project} init -q && git -C {project} add -A")
    return sandbox


def _words(process: psutil.Process) -> list[str]:
    with contextlib.suppress(psutil.Error):
        return process.cmdline()
    return []


def _children(process: psutil.Process) -> list[psutil.Process]:
    with contextlib.suppress(psutil.Error):
        return process.children()
    return []


def _leads_session(pid: int) -> bool:
    """Return whether this child of a supervisor is its shell; its other children were started within the session."""
    try:
        return os.getsid(pid) == pid and "--noediting" in _words(psutil.Process(pid))
    except (OSError, psutil.Error):
        return False


def _group(process: psutil.Process) -> int:
    return _group_of(process.pid)


def _group_of(pid: int) -> int:
    try:
        return os.getpgid(pid)
    except OSError:
        return -pid


def measures() -> Iterator[Measure]:
    """Run a short campaign: one round for each kind of kill."""
    kills, bad, missed = campaign(len(KINDS), random.randrange(1_000_000) * len(KINDS))
    yield Measure(f"rounds with a violation, of {len(KINDS)}", bad, "", None, 0, bad == 0)
    yield Measure(f"kinds of kills never hit, in {kills.total()} kills", len(missed), "", None, None, True)


def campaign(count: int, seed: int) -> tuple[Counter[str], int, set[str]]:
    """Play the rounds; return the kills by kind, the number of rounds with a violation, and the due kinds never hit."""
    kills: Counter[str] = Counter()
    bad = 0
    for number in range(seed, seed + count):
        directory = Path(tempfile.mkdtemp(prefix="ohwk-", dir="/tmp"))
        round_ = Round(directory, number)
        try:
            violations = round_.play()
        except AssertionError as error:
            violations = [*round_.violations, str(error)]
        kills.update(round_.kills)
        bad += bool(violations)
        print(
            f"{number}: {', '.join(round_.kills) or 'none'}; {len(round_.log.seen)} events", file=sys.stderr, flush=True
        )
        for violation in violations:
            print(f"  VIOLATION in {directory}: {violation}", file=sys.stderr, flush=True)
        if not violations:
            shutil.rmtree(directory, ignore_errors=True)
    return kills, bad, {KINDS[number % len(KINDS)] for number in range(seed, seed + count)} - set(kills)


def main(count: int, seed: int) -> int:
    """Play the rounds and return the exit code."""
    kills, bad, missed = campaign(count, seed)
    print(f"{count} rounds, {kills.total()} kills {dict(kills)}, {bad} rounds with a violation")
    if missed:
        print(f"never hit: {', '.join(sorted(missed))}")
    return 1 if bad or missed else 0


if __name__ == "__main__":
    numbers = [int(word) for word in sys.argv[1:]]
    sys.exit(main(*([*numbers, 20, 0][:2] if len(numbers) != 1 else [numbers[0], 0])))
