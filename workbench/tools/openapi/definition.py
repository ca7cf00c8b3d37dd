"""Creates the tools of the OpenAPI documents in `[tools.openapi]`; registered under the name `openapi`."""

from __future__ import annotations

import hashlib
from collections.abc import Container, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING, Any

from workbench.lazy_pattern import lazy_pattern
from workbench.tools.context import ConversationState, warn, workspace_of
from workbench.tools.openapi.documents import BadDocument, Loaded, checked, load, parsed
from workbench.tools.openapi.source import Source, read_source
from workbench.tools.tool import ToolBase, ToolDefinition

if TYPE_CHECKING:
    from workbench.tools.openapi.operations import Operation

MOST = 3_000
"""The most operations of one document."""
_OTHER = lazy_pattern(r"[^A-Za-z0-9]+")
_LONGEST = 64
_MOST_WARNINGS = 5
_SET = "say in the settings where they go: base_url"


class OpenAPITools(ToolBase[Any, Any]):
    """Creates one tool for each operation of each document, named after both."""

    @classmethod
    def create(cls, conv_state: ConversationState, **documents: Any) -> Sequence[ToolDefinition]:
        """Return the tools of all usable documents; others add a notice. Raises UsageError for an invalid setting."""
        sources = [read_source(name, table) for name, table in documents.items()]
        with ThreadPoolExecutor(min(8, len(sources) or 1), "openapi") as pool:
            loaded = list(pool.map(lambda source: _loaded(source, Path(workspace_of(conv_state))), sources))
        tools: dict[str, ToolDefinition] = {}
        for source, result in zip(sources, loaded, strict=True):
            about = f"the OpenAPI document {source.name} ({source.document})"
            try:
                if isinstance(result, BadDocument):
                    raise result
                if result.notice:
                    warn(conv_state, f"{about}: {result.notice}")
                tools |= {tool.name: tool for tool in _tools(source, result, conv_state, tools)}
            except BadDocument as error:
                warn(conv_state, f"{about} is ignored: {error}")
        return tuple(tools.values())


def _loaded(source: Source, workspace: Path) -> Loaded | BadDocument:
    try:
        return load(source, workspace)
    except BadDocument as error:
        return error


def _tools(
    source: Source, loaded: Loaded, conv_state: ConversationState, taken: Container[str]
) -> Iterator[ToolDefinition]:
    """Yield the tools of one document. Raises BadDocument."""
    from workbench.tools.openapi.calls import Keys, OperationExecutor
    from workbench.tools.openapi.operations import Reader
    from workbench.tools.openapi.references import References
    from workbench.tools.openapi.tool import OperationTool

    document = checked(parsed(loaded.content))
    references = References(document, loaded.uri, loaded.directory)
    reader = Reader(document, references, loaded.url, source.base_url)
    keys = Keys(source)
    is_old = str(document["openapi"]).startswith("3.0")
    names: set[str] = set()
    for operation in reader.operations():
        if len(names) >= MOST:
            reader.warnings.append(f"it has more than {MOST:,} operations; the others are ignored")
            break
        if not _is_selected(operation, source):
            continue
        is_server_trusted = bool(source.base_url) or loaded.may_name_server(operation.base_url)
        if source.has_keys and not is_server_trusted:
            raise BadDocument(
                f"others write it, and it says that calls with your key go to {operation.base_url}; {_SET}"
            )
        name = _free(f"{source.name}_{operation.id}", names, taken)
        names.add(name)
        allows_private = bool(source.base_url) or loaded.is_of(operation.base_url)
        executor = OperationExecutor(operation, source, keys, allows_private=allows_private)
        yield OperationTool(name, operation, references, executor, is_old=is_old, is_server_trusted=is_server_trusted)
    if not names:
        reader.warnings.append("none of its operations is selected")
    _warn_all(conv_state, source, reader.warnings)


def _warn_all(conv_state: ConversationState, source: Source, warnings: Sequence[str]) -> None:
    for line in warnings[:_MOST_WARNINGS]:
        warn(conv_state, f"the OpenAPI document {source.name}: {line}")
    if len(warnings) > _MOST_WARNINGS:
        warn(conv_state, f"the OpenAPI document {source.name}: {len(warnings) - _MOST_WARNINGS} more are ignored")


def _is_selected(operation: Operation, source: Source) -> bool:
    if source.read_only and not operation.reads_only:
        return False
    labels = (operation.id, operation.path, *operation.tags)
    return not source.only or any(fnmatchcase(name, pattern) for name in labels for pattern in source.only)


def _free(candidate: str, names: Container[str], taken: Container[str]) -> str:
    """Return a name that every provider accepts and no other tool has."""
    base = _OTHER.sub("_", candidate).strip("_")
    if len(base) > _LONGEST:
        base = f"{base[: _LONGEST - 7]}_{hashlib.sha256(candidate.encode(errors='replace')).hexdigest()[:6]}"
    name, count = base, 1
    while name in names or name in taken or _is_ours(name):
        count += 1
        name = f"{base[: _LONGEST - 5]}_{count}"
    return name


def _is_ours(name: str) -> bool:
    from workbench.tools.registry import list_registered_tools, resolve_alias

    return name in list_registered_tools() or resolve_alias(name) != name
