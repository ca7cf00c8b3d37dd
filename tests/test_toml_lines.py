"""Where a mistake in a TOML file stands, what is said of it, and the name that was meant."""

import tomllib

import pytest

from workbench.toml_lines import broken, near, nearest

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
def test_the_nearest_name_is_the_one_with_the_fewest_slips(written, meant):
    assert nearest(written, SETTINGS) == meant
    assert near(written, SETTINGS) == (f"; did you mean {meant!r}?" if meant else "")


@pytest.mark.parametrize(
    ("text", "line", "says"),
    [
        ("a = 1\nb = yes", 2, "text stands in quotes"),
        ("a = ", 1, "no value can be read here"),
        ('a = "x\nb = 1', 1, "a quote is not closed"),
        ("a b = 1", 1, "a name is followed by = and its value"),
        ("a = 1\n\na = 2\nb = 3", 3, "this name is set a second time"),
        ("[a]\n[b]\n[a]", 3, "this table stands here a second time"),
        ("[a\nb = 1", 1, "a bracket is not closed"),
        ("a = 1 2", 1, "something is left over behind the value"),
    ],
)
def test_a_file_that_is_no_toml_is_told_with_the_line_and_what_to_look_for(text, line, says):
    with pytest.raises(tomllib.TOMLDecodeError) as error:
        tomllib.loads(text)
    found, reason = broken(error.value, text)
    assert (found, says in reason) == (line, True)
