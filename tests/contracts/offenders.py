"""Known offenders against a contract, in `offenders.json`: the lists only shrink.

An entry that no longer offends must be removed, and new ones are refused. `python -m tests.contracts.offenders` removes
what no longer offends and lowers the counts; it never adds. With `init` it adopts the names as they are after a move.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

_FILE = Path(__file__).with_name("offenders.json")
_TIGHTEN: list[str] = []
"""Not empty while the file is being tightened."""


def load() -> dict[str, dict[str, Any]]:
    """The known offenders, by contract and name."""
    return json.loads(_FILE.read_text())


def differences(contract: str, found: Mapping[str, Any]) -> list[str]:
    """Return how the offenders differ from the list of the contract; a listed number is the most that is allowed.

    While the file is being tightened, write the list instead and return nothing.
    """
    listed = load().get(contract, {})
    if _TIGHTEN:
        _write(contract, {name: value for name, value in found.items() if name in listed or "init" in _TIGHTEN})
        return []
    new = [f"new: {name}: {value}" for name, value in found.items() if name not in listed]
    more = [
        f"more: {name}: {value}, at most {listed[name]}"
        for name, value in found.items()
        if isinstance(value, int) and isinstance(listed.get(name), int) and value > listed[name]
    ]
    gone = [
        f"no longer offending, run `uv run python -m tests.contracts.offenders`: {name}"
        for name in sorted(set(listed) - set(found))
    ]
    return new + more + gone


def _write(contract: str, found: dict[str, Any]) -> None:
    lists = load()
    old = lists.get(contract, {})
    # Modules that were moved or merged take their counts along; the sum never rises.
    was_moved = "init" in _TIGHTEN and _sum(found) <= _sum(old)
    lists[contract] = {
        name: value if was_moved else _lower(old[name], value)
        for name, value in sorted(found.items())
        if was_moved or name in old
    }
    _FILE.write_text(json.dumps(lists, indent=1, ensure_ascii=False) + "\n")


def _sum(values: Mapping[str, Any]) -> int:
    """The number of offences; an entry without a number is one."""
    return sum(value if isinstance(value, int) else 1 for value in values.values())


def _lower(old: Any, new: Any) -> Any:
    """Keep a reason that a person wrote; lower a number."""
    if isinstance(old, int) and isinstance(new, int):
        return min(old, new)
    return old if isinstance(old, str) and old.startswith("because ") else new


if __name__ == "__main__":
    from tests.contracts import offenders

    offenders._TIGHTEN += ["tighten", *sys.argv[1:]]
    with_lists = [str(path) for path in _FILE.parent.glob("test_*.py") if "import differences" in path.read_text()]
    sys.exit(pytest.main(["-q", "-n", "0", "-p", "no:cacheprovider", *with_lists]))
