"""The tools of the OpenAPI documents that `[tools.openapi]` names; the registry knows them under the name `openapi`."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Container, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING, Any

from workbench.tools.context import ConversationState, warn
from workbench.tools.openapi.documents import BadDocument, Loaded, checked, load, parsed
from workbench.tools.openapi.source import Source, read_source
from workbench.tools.tool import ToolBase, ToolDefinition

if TYPE_CHECKING:
    from workbench.tools.openapi.operations import Operation

MOST = 3_000
"""Operations of one document."""
_OTHER = re.compile(r"[^A-Za-z0-9]+")
_LONGEST = 64
_MOST_WARNINGS = 5
_SET = "say in the settings where they go: base_url"


class OpenAPITools(ToolBase[Any, Any]):
    """Each operation of each document a tool, named after the document and the operation."""

    @classmethod
    def create(cls, conv_state: ConversationState, **documents: Any) -> Sequence[ToolDefinition]:
        """The tools of all documents that can be read; raises UsageError for a wrong setting."""
        sources = [read_source(name, table) for name, table in documents.items()]
        with ThreadPoolExecutor(min(8, len(sources) or 1), "openapi") as pool:
            loaded = list(pool.map(lambda source: _loaded(source, Path(conv_state.workspace)), sources))
        made: dict[str, ToolDefinition] = {}
        for source, found in zip(sources, loaded, strict=True):
            about = f"the OpenAPI document {source.name} ({source.document})"
            try:
                if isinstance(found, BadDocument):
                    raise found
                if found.notice:
                    warn(conv_state, f"{about}: {found.notice}")
                made |= {tool.name: tool for tool in _tools(source, found, conv_state, made)}
            except BadDocument as error:
                warn(conv_state, f"{about} is left out: {error}")
        return tuple(made.values())


def _loaded(source: Source, workspace: Path) -> Loaded | BadDocument:
    try:
        return load(source, workspace)
    except BadDocument as error:
        return error


def _tools(
    source: Source, loaded: Loaded, conv_state: ConversationState, taken: Container[str]
) -> Iterator[ToolDefinition]:
    """The tools of one document; raises BadDocument."""
    from workbench.tools.openapi.calls import Keys, OperationExecutor
    from workbench.tools.openapi.operations import Reader
    from workbench.tools.openapi.references import References
    from workbench.tools.openapi.tool import OperationTool

    document = checked(parsed(loaded.content))
    references = References(document, loaded.uri, loaded.folder)
    reader = Reader(document, references, loaded.address, source.base_url)
    keys = Keys(source)
    is_old = str(document["openapi"]).startswith("3.0")
    names: set[str] = set()
    for operation in reader.operations():
        if len(names) >= MOST:
            reader.warnings.append(f"it has more than {MOST:,} operations; the others are left out")
            break
        if not _is_wanted(operation, source):
            continue
        is_settled = bool(source.base_url) or loaded.settles(operation.base_url)
        if source.has_keys and not is_settled:
            raise BadDocument(
                f"others write it, and it says that calls with your key go to {operation.base_url}; {_SET}"
            )
        name = _free(f"{source.name}_{operation.id}", names, taken)
        names.add(name)
        goes_anywhere = bool(source.base_url) or loaded.is_of(operation.base_url)
        executor = OperationExecutor(operation, source, keys, goes_anywhere=goes_anywhere)
        yield OperationTool(name, operation, references, executor, is_old=is_old, is_settled=is_settled)
    if not names:
        reader.warnings.append("it has no operation that is wanted")
    _tell(conv_state, source, reader.warnings)


def _tell(conv_state: ConversationState, source: Source, warnings: Sequence[str]) -> None:
    for line in warnings[:_MOST_WARNINGS]:
        warn(conv_state, f"the OpenAPI document {source.name}: {line}")
    if len(warnings) > _MOST_WARNINGS:
        warn(conv_state, f"the OpenAPI document {source.name}: {len(warnings) - _MOST_WARNINGS} more are left out")


def _is_wanted(operation: Operation, source: Source) -> bool:
    if source.read_only and not operation.reads_only:
        return False
    known = (operation.id, operation.path, *operation.tags)
    return not source.only or any(fnmatchcase(name, pattern) for name in known for pattern in source.only)


def _free(wanted: str, names: Container[str], taken: Container[str]) -> str:
    """A name every provider takes and no other tool has."""
    base = _OTHER.sub("_", wanted).strip("_")
    if len(base) > _LONGEST:
        base = f"{base[: _LONGEST - 7]}_{hashlib.sha256(wanted.encode(errors='replace')).hexdigest()[:6]}"
    name, count = base, 1
    while name in names or name in taken or _is_ours(name):
        count += 1
        name = f"{base[: _LONGEST - 5]}_{count}"
    return name


def _is_ours(name: str) -> bool:
    from workbench.tools.registry import list_registered_tools, resolve_alias

    return name in list_registered_tools() or resolve_alias(name) != name
