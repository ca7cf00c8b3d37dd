"""The sandbox of a session, according to the setting: proven at start, and off if it cannot be proven."""

from __future__ import annotations

import dataclasses
import os
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Literal, TypeAlias

from msgspec.structs import replace

from workbench.config.locations import Locations
from workbench.config.settings import Settings
from workbench.errors import WorkbenchError
from workbench.processes.launch import IN_SANDBOX, ProgramStart
from workbench.protocol.live import EngineState
from workbench.rules.rule import Rule, parse_rule
from workbench.rules.subject import SANDBOX_WRITE
from workbench.sandbox.granted_directories import directory_of, granted_directories, refusal
from workbench.sandbox.partial_sandbox import PartialSandbox, unfit
from workbench.sandbox.proof import Proof, prove
from workbench.sandbox.protected_paths import MOST_DIRECTORIES, protected_paths
from workbench.sandbox.proxy import NetworkProxy
from workbench.sandbox.sandbox import Boundary, GrantedDirectories, Sandbox
from workbench.text import visible_path

OFF, READ_ONLY, AUTO = "off", "read-only", "auto"
_PATIENCE = 30.0
_WRITABLE = ("partial", "workspace-write")
_LIMIT = (
    f"the workspace has more than {MOST_DIRECTORIES:,} directories; protected files in those furthest from its top can "
    "be written, and not all of them are compared"
)
_LOCK = threading.Lock()
Kind: TypeAlias = Literal["", "off", "partial", "read-only", "workspace-write"]


def boundary_of(
    settings: Settings,
    locations: Locations,
    workspace: Path,
    container_path: str = "",
    rules: Callable[[], Iterable[Rule]] = tuple,
) -> Boundary:
    """Return the boundary of a workspace according to the settings; `container_path` is its second path in a container.

    `rules` returns the rules in effect, which may grant additional directories.
    """
    home = Path(os.environ.get("HOME") or Path.home())
    caches = settings.sandbox_caches
    is_writable = settings.sandbox != READ_ONLY
    boundary = Boundary(workspace, locations, home, is_writable, caches, container_path=container_path)
    return dataclasses.replace(boundary, granted=lambda: granted_directories(rules(), boundary))


class SessionSandbox:
    """Starts programs in a sandbox or without one, according to the setting; may be used from several threads.

    The proof takes a fraction of a second. It is made once per process, in a thread, and programs wait for it.
    """

    def __init__(self, kind: str, boundary: Boundary, proxy: NetworkProxy | None = None) -> None:
        """`kind` is a value of the setting `sandbox`."""
        self._kind = kind
        self._boundary, self._proxy = boundary, proxy
        self._sandbox = Sandbox(boundary, proxy) if kind != OFF else None
        self._proof: Proof | None = None
        self._limit = ""
        self._on_proof: Callable[[], None] = lambda: None
        self._is_proven, self._lock = threading.Event(), threading.Lock()
        if self._sandbox is not None:
            threading.Thread(target=self._prove, name="sandbox-proof", daemon=True).start()

    def _prove(self) -> None:
        boundary, proof = self._boundary, Proof("the proof failed")
        try:
            with _LOCK:
                proof = _proof_of(boundary.locations, boundary.home)
            if proof.is_partial and (reason := unfit(boundary)):
                proof = Proof(f"{proof.reason}, and {reason}")
        finally:
            self._record(proof)
        if self.kind == "workspace-write" and not protected_paths(boundary.workspace.resolve()).is_complete:
            self._limit = _LIMIT
        # Only now: whoever waits for the proof may own a lock that this needs.
        self._on_proof()

    def _record(self, proof: Proof) -> None:
        """Set the result, unless there is one already: programs may have been started on the strength of that one."""
        with self._lock:
            if self._proof is None:
                self._proof = proof
                if self._is_partial:
                    self._sandbox = PartialSandbox(self._boundary, self._proxy)
        self._is_proven.set()

    def when_proven(self, do: Callable[[], None]) -> None:
        """Call a function in a thread when the proof is made; at once if it has already been made."""
        self._on_proof = do
        if self._proof is not None:
            do()

    @property
    def _is_partial(self) -> bool:
        """Whether the partial sandbox is in effect; only with the setting "auto", because other values demand the full
        sandbox.
        """
        return self._kind == AUTO and self._proof is not None and self._proof.is_partial

    @property
    def kind(self) -> Kind:
        """The sandbox in effect: "off" if there is none, empty until the proof is made."""
        if self._sandbox is None:
            return "off"
        if self._proof is None:
            return ""
        if not self._proof.holds:
            return "partial" if self._is_partial else "off"
        return "read-only" if self._kind == READ_ONLY else "workspace-write"

    @property
    def reason(self) -> str:
        """Why there is no sandbox, or only a partial one, although the setting asks for it; otherwise empty."""
        return self._proof.reason if self._proof is not None else ""

    @property
    def launcher(self) -> SessionSandbox | None:
        """What tools start their programs with; None if the setting is "off"."""
        return None if self._sandbox is None else self

    def with_sandbox(self, state: EngineState) -> EngineState:
        """Return the state with the sandbox that is in effect, and its limits."""
        granted = self._boundary.granted() if self.kind in _WRITABLE else GrantedDirectories()
        whole = filter(None, (self._limit, *granted.limits))
        limit = "; ".join(self._proof.gaps if self._is_partial and self._proof is not None else whole)
        state = replace(state, sandbox=self.kind, sandbox_reason=self.reason, sandbox_limit=limit)
        return replace(state, sandbox_granted=granted.writable, sandbox_refused=granted.refused)

    @property
    def granted(self) -> Sequence[str]:
        """The directories, besides the workspace, that commands may write to; waits for the proof if there are any."""
        granted = self._sandbox.granted if self._sandbox is not None else ()
        return granted if granted and self.holds else ()

    def granting(self, directory: str) -> Rule:
        """Return the rule that lets commands write to a directory, given as the user writes it.

        Waits for the proof. Raises WorkbenchError with the reason if commands may not write there.
        """
        path = directory_of(directory, str(self._boundary.workspace))
        if reason := self._refusal(path):
            raise WorkbenchError(f"commands may not write {visible_path(path)}: {reason}")
        return Rule("allow", SANDBOX_WRITE, path=path)

    def revoked(self, directory: str, rules: Sequence[str]) -> str:
        """Return the line among a session's `rules` that lets commands write to a directory. Raises WorkbenchError if
        there is none.
        """
        path = directory_of(directory, str(self._boundary.workspace))
        for line in rules:
            rule = parse_rule(line)
            if (rule.verdict, rule.tool) == ("allow", SANDBOX_WRITE) and directory_of(rule.path) == path:
                return line
        raise WorkbenchError(f"no rule of this session lets commands write {visible_path(path)}; see your rules.toml")

    def _refusal(self, path: str) -> str:
        if self._sandbox is None or not self.holds:
            return "there is no sandbox, so they can write whatever you can"
        return refusal(path, self._boundary) if self._boundary.is_writable else "the sandbox is read-only"

    @property
    def holds(self) -> bool:
        """Whether programs are confined, fully or partially; waits for the proof."""
        if self._sandbox is None:
            return False
        if not self._is_proven.wait(_PATIENCE):
            self._record(Proof("it was not proven in time"))
        return self.kind not in ("", "off")

    @property
    def containment(self) -> str:
        """The reason to record with a decision that needs no approval; empty without a full sandbox."""
        return IN_SANDBOX if self.holds and not self._is_partial else ""

    @property
    def directory(self) -> None:
        """None: programs see the temporary files of tools at their usual paths."""

    @property
    def container_path(self) -> str:
        """Empty: programs see the workspace at its own path only."""
        return ""

    def is_waiting(self, program: str) -> bool:
        """Return whether the program with this name is waiting for the user to decide on a host."""
        return self._sandbox is not None and self._sandbox.is_waiting(program)

    def refused_since(self, program: str, since: float) -> Sequence[str]:
        """Return one line for each host that was refused to a program since `since`, a time of `time.monotonic`."""
        return self._sandbox.refused_since(program, since) if self._sandbox is not None else ()

    @contextmanager
    def launch(
        self,
        argv: Sequence[str],
        directory: Path | str,
        env: Mapping[str, str],
        *,
        writable: Sequence[Path] = (),
        readable: Sequence[Path] = (),
        private: Path | None = None,
        name: str = "",
    ) -> Iterator[ProgramStart]:
        """Yield how to start a program, inside the sandbox if it works.

        Raises OSError if the setting demands a sandbox and there is none.
        """
        if self._sandbox is not None and self.holds:
            with self._sandbox.launch(
                argv, directory, env, writable=writable, readable=readable, private=private, name=name
            ) as launch:
                yield launch
        elif self._kind in (OFF, AUTO):
            yield ProgramStart(argv, env)
        else:
            raise PermissionError(1, f"the sandbox is not proven ({self.reason}), but the setting `sandbox` demands it")

    def close(self) -> None:
        """End the programs' connections, and delete their temporary directory."""
        if self._sandbox is not None:
            self._sandbox.close()


@cache
def _proof_of(locations: Locations, home: Path) -> Proof:
    """Return the proof for a user on this machine; it does not depend on the session's workspace."""
    return prove(Boundary(home, locations, home))
