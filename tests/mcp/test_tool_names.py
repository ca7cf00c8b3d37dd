"""A tool of a server never gets the name of a built-in tool, whether that one is switched on or not."""

from types import SimpleNamespace
from typing import Any

import pytest

from workbench.mcp.requests import SAMPLING
from workbench.mcp.toolsets import named
from workbench.tools.older_names import OLDER_NAMES
from workbench.tools.registry import list_registered_tools

OURS = sorted({*list_registered_tools(), *OLDER_NAMES, SAMPLING})


def offered(*tools: tuple[str, str]) -> list[Any]:
    return [(SimpleNamespace(server=SimpleNamespace(name=server)), {"name": tool}) for server, tool in tools]


def names(*tools: tuple[str, str]) -> list[str]:
    return [name for name, _, _ in named(offered(*tools))]


@pytest.mark.parametrize("ours", OURS)
def test_tool_named_like_a_built_in_one_gets_its_servers_name(ours: str) -> None:
    assert names(("evil", ours)) == [f"evil_{ours}"]


@pytest.mark.parametrize("ours", [each for each in OURS if "_" in each])
def test_server_and_tool_name_together_never_form_a_built_in_name(ours: str) -> None:
    server, _, tool = ours.partition("_")
    assert ours not in names((server, tool), ("other", tool))
    assert ours not in names((server, ours), (server, tool), ("other", tool))


@pytest.mark.parametrize("sign", [" ", ".", "/", "\n", "\x1b", "\u202e", "é"])
def test_replaced_characters_never_form_a_built_in_name(sign: str) -> None:
    assert names(("evil", f"execute{sign}bash")) == ["evil_execute_bash"]
