"""Copies of files that were kept before a command took them away: a list beside the versions; used by `ohw restore`."""

from __future__ import annotations

import json
import stat
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from workbench.errors import WorkbenchError
from workbench.security.secrets import KNOWN
from workbench.session.versions.repository import Change, Repository, VersionsFail
from workbench.session.versions.restoring import write
from workbench.text import visible

_NAMED = 5
_USUAL = (0, 0o644, 0o755, 0o664, 0o775)


@dataclass(frozen=True)
class Copy:
    """One copy: `version` holds just its files; `id` is what the person names it by."""

    id: str
    at: str
    session: str
    command: str
    version: str
    count: int
    size: int
    modes: Mapping[str, int] = field(default_factory=dict)
    """The modes of files that were not those git knows, such as a file for its owner alone."""


class Copies:
    """The copies of one workspace."""

    def __init__(self, repository: Repository) -> None:
        self._repository = repository
        self._file = repository.folder / "copies.jsonl"

    def keep(self, paths: Sequence[str], command: str, session_id: str, size: int) -> Copy:
        """Keep these files; raises VersionsFail."""
        modes = {path: mode for path in paths if (mode := _mode(self._repository.workspace / path)) not in _USUAL}
        version = self._repository.keep(paths)
        at = datetime.now(UTC).isoformat(timespec="seconds")
        said = KNOWN.masked(command)[:500]
        copy = Copy(version[:8], at, session_id, said, version, len(paths), size, modes)
        try:
            with self._file.open("a") as file:
                file.write(json.dumps(asdict(copy)) + "\n")
        except OSError as error:
            raise VersionsFail(f"the copy cannot be written down: {error.strerror}") from error
        return copy

    def all(self) -> list[Copy]:
        """Every copy there is, the newest first; a line that cannot be read is passed over."""
        try:
            lines = self._file.read_text(errors="replace").splitlines()
        except OSError:
            return []
        found = {}
        for line in lines:
            try:
                copy = Copy(**json.loads(line))
            except (ValueError, TypeError):
                continue
            found[copy.id] = copy
        return sorted(found.values(), key=lambda copy: copy.at, reverse=True)

    def restore(self, given: str, *, force: bool = False) -> int:
        """Write the files of a copy again, those that are there as they were excepted; how many.

        Raises WorkbenchError, and writes nothing then: where there is no such copy, it was pruned, or something newer
        stands in a file's place and `force` is not given.
        """
        matching = [copy for copy in self.all() if copy.id.startswith(given)]
        if len(matching) != 1:
            raise WorkbenchError(f"{'no' if not matching else 'more than one'} copy {given}; `ohw restore` lists them")
        changes = self._repository.files_of(matching[0].version)
        contents = self._repository.contents(list(dict.fromkeys(change.after for change in changes)))
        missing = [change for change in changes if not self._is_there(change, contents[change.after])]
        newer = [change.path for change in missing if (self._repository.workspace / change.path).exists()]
        if newer and not force:
            names = ", ".join(visible(path, lines=False) for path in newer[:_NAMED])
            more = f" and {len(newer) - _NAMED} more" if len(newer) > _NAMED else ""
            raise WorkbenchError(f"these files hold something else now: {names}{more}; --force overwrites them")
        write(self._repository, missing)
        for change in missing:
            if mode := matching[0].modes.get(change.path):
                self._chmod(change.path, mode)
        return len(missing)

    def _chmod(self, path: str, mode: int) -> None:
        try:
            with self._repository.root.entry(self._repository.root.path / path) as entry:
                entry.chmod(mode)
        except OSError as error:
            raise VersionsFail(f"{visible(path, lines=False)} has not its mode back: {error.strerror}") from error

    def _is_there(self, change: Change, raw: bytes) -> bool:
        path: Path = self._repository.workspace / change.path
        try:
            return (str(path.readlink()).encode() if change.has_link else path.read_bytes()) == raw
        except OSError:
            return False


def _mode(path: Path) -> int:
    """The mode of a file; 0 for what is none, or gone."""
    try:
        found = path.lstat()
    except OSError:
        return 0
    return stat.S_IMODE(found.st_mode) if stat.S_ISREG(found.st_mode) else 0
