"""All sessions, for the Sessions screen: read in threads, filtered and searched. Does not import textual."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from workbench.config.locations import Locations
from workbench.errors import WorkbenchError
from workbench.processes.spawn import isolated_python, run
from workbench.session.file_search import ranking
from workbench.session.session_names import session_path
from workbench.session.storage import session_list as shelf
from workbench.session.storage.changed_files import changed_files
from workbench.session.storage.event_rows import words_of
from workbench.session.storage.lock import holder
from workbench.session.storage.session_list import SearchMatch, SessionSummary, find_session, newest_first
from workbench.view.batches import in_batches
from workbench.view.formatting.sessions import SessionRow, title
from workbench.view.git_branch import current_branch
from workbench.view.wrapping import count_lines

_EXPORT = 600.0


def family_rows(rows: Iterable[SessionRow]) -> Iterator[SessionRow]:
    """Yield the rows in the same order, but each fork below the session that it comes from, in that one's group.

    A fork whose session is not among them, or is damaged, stays where it is.
    """
    by_id = {row.entry.id: row for row in rows}
    forks: dict[str, list[SessionRow]] = {}
    for row in by_id.values():
        origin = by_id.get(row.entry.forked_from)
        has_origin = origin is not None and not (origin.entry.damaged or row.entry.damaged)
        forks.setdefault(row.entry.forked_from if has_origin else "", []).append(row)
    waiting = [(row, 0, row.entry.workspace) for row in reversed(forks.pop("", []))]
    while waiting:
        row, depth, group = waiting.pop()
        yield replace(row, depth=depth, group=group)
        waiting += [(fork, depth + 1, group) for fork in reversed(forks.pop(row.entry.id, []))]
    for circle in forks.values():  # no session forks from itself, but a changed file may say so
        yield from circle


class SessionShelf:
    """The stored sessions by id; `current` is the one on the screen."""

    def __init__(self, locations: Locations, current: str = "") -> None:
        self._locations = locations
        self.current = current
        self._rows: dict[str, SessionRow] = {}
        self._called: Counter[str] = Counter()
        self._branches: dict[str, str] = {}

    def read(self, on_batch: Callable[[list[SessionRow]], None], stopped: Callable[[], bool]) -> None:
        """Read all sessions; call it in a thread. `on_batch` is called with each new batch."""
        rows = (self._row(entry) for entry in newest_first(self._locations))
        in_batches(rows, on_batch, stopped)

    def search(self, text: str, on_batch: Callable[[list[SearchMatch]], None], stopped: Callable[[], bool]) -> None:
        """Search all sessions for the words; call it in a thread. `on_batch` is called with each new batch."""
        in_batches(shelf.search_all(self._locations, text, stopped), on_batch, stopped)

    def add(self, rows: Iterable[SessionRow]) -> None:
        """Add the rows that were read, or replace earlier ones."""
        new = {row.entry.id: row for row in rows}
        self._called.subtract(title(self._rows[name].entry) for name in new if name in self._rows)
        self._called.update(title(row.entry) for row in new.values())
        self._rows |= new

    def is_twin(self, row: SessionRow) -> bool:
        """Return whether another session has the same title."""
        return self._called[title(row.entry)] > 1

    def rows(self, query: str = "") -> Sequence[SessionRow]:
        """Return the sessions that match the query, best first; for an empty query, all except sub-agents' sessions.

        Without a query, those of one directory follow each other, a fork follows the session that it comes from, and
        damaged ones come last.
        """
        if not query.strip():
            groups: dict[tuple[bool, str], list[SessionRow]] = {}
            for row in family_rows(row for row in self._rows.values() if not row.entry.parent):
                groups.setdefault((bool(row.entry.damaged), row.directory), []).append(row)
            return [row for key in sorted(groups, key=lambda key: key[0]) for row in groups[key]]
        rank = ranking(query.strip())
        ranked = []
        for at, row in enumerate(self._rows.values()):
            fit = rank(f"{title(row.entry)} {Path(row.entry.workspace).name} {row.entry.id}".lower())
            if fit is not None:
                ranked.append((fit[0], at, row))
        return [row for _, _, row in sorted(ranked, key=lambda each: each[:2])]

    def match_rows(self, matches: Iterable[SearchMatch], text: str) -> list[SessionRow]:
        """Return a row for each match of a search."""
        words = tuple(words_of(text))
        rows = ((self._rows.get(each.session), each) for each in matches)
        return [SessionRow(row.entry, row.is_current, row.is_busy, each, words) for row, each in rows if row]

    def count(self) -> tuple[int, int]:
        """Return the number of sessions, and how many of them are damaged; sub-agents' sessions do not count."""
        entries = [row.entry for row in self._rows.values() if not row.entry.parent]
        return len(entries), sum(bool(entry.damaged) for entry in entries)

    def rename(self, name: str, text: str) -> None:
        """Set the title of a session that no process uses. Raises WorkbenchError."""
        shelf.rename(self._locations, name, text)
        self._refresh(name)

    def retitle(self, name: str, text: str) -> None:
        """Show a new title that was sent to the session's engine."""
        row = self._rows[name]
        entry = row.entry if not text else replace(row.entry, title=text)
        self.add([replace(row, entry=entry)])

    def delete(self, name: str) -> None:
        """Delete a session that no process uses, and its sub-agents' sessions. Raises WorkbenchError."""
        shelf.delete(self._locations, name)
        children = [each for each, row in self._rows.items() if row.entry.parent == name]
        if name in self._rows:
            self._called.subtract([title(self._rows.pop(name).entry)])
        for child in children:
            self.delete(child)

    def export(self, name: str, file: Path) -> None:
        """Write a session to a file, whose suffix sets the format, in a separate process. Raises WorkbenchError."""
        own = session_path(self._locations, name)
        # It may not be in the user's own directory, in which its ID would be looked for.
        source = str(own.absolute()) if own.is_file() else name
        command = isolated_python("workbench", "export", source, f"--output={file.absolute()}")
        try:
            done = run(command, input="", capture_output=True, text=True, timeout=_EXPORT)
        except TimeoutError as error:
            raise WorkbenchError("the export took too long and was ended") from error
        except OSError as error:
            raise WorkbenchError(f"the export could not be started: {error.strerror or error}") from error
        if done.returncode:
            raise WorkbenchError(
                done.stderr.strip().removeprefix("ohw: ") or f"the export ended with {done.returncode}"
            )

    def _refresh(self, name: str) -> None:
        self.add([self._row(find_session(self._locations, name))])

    def _row(self, entry: SessionSummary) -> SessionRow:
        is_current = entry.id == self.current
        is_busy = not is_current and holder(session_path(self._locations, entry.id)) is not None
        if entry.workspace and not entry.origin and entry.workspace not in self._branches:
            self._branches[entry.workspace] = current_branch(Path(entry.workspace))
        changes = [] if entry.damaged else changed_files(session_path(self._locations, entry.id))
        counts = [count_lines(before, after) for before, after in changes]
        return SessionRow(
            entry,
            is_current,
            is_busy,
            branch="" if entry.origin else self._branches.get(entry.workspace, ""),
            added=sum(added for added, _ in counts),
            removed=sum(removed for _, removed in counts),
        )
