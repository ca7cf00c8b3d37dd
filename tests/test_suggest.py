"""The suggestion of a known name for a misspelt one."""

import pytest

from workbench.suggest import near, nearest

SETTINGS = ["mode", "model", "models", "theme", "confirm_unknown", "mcpServers"]


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("modle", "model"),
        ("mdoel", "model"),
        ("modee", "mode"),
        ("moddels", "models"),
        ("Theme", "theme"),
        ("mcpservers", "mcpServers"),
        ("confirm", "confirm_unknown"),
        ("zzz", ""),
    ],
)
def test_nearest_name_has_the_smallest_edit_distance(written, meant):
    assert nearest(written, SETTINGS) == meant
    assert near(written, SETTINGS) == (f"; did you mean {meant!r}?" if meant else "")
