"""The position of a mistake in a TOML file, and its message."""

import tomllib

import pytest

from workbench.config.toml_file import syntax_problem


@pytest.mark.parametrize(
    ("text", "line", "says"),
    [
        ("a = 1\nb = yes", 2, "text needs quotes"),
        ("a = ", 1, "this is not a value"),
        ('a = "x\nb = 1', 1, "a quote is not closed"),
        ("a b = 1", 1, "a name is followed by = and its value"),
        ("a = 1\n\na = 2\nb = 3", 3, "this name is set a second time"),
        ("[a]\n[b]\n[a]", 3, "this table is declared a second time"),
        ("[a\nb = 1", 1, "a bracket is not closed"),
        ("a = 1 2", 1, "something is left over after the value"),
    ],
)
def test_invalid_toml_is_reported_with_line_and_hint(text, line, says):
    with pytest.raises(tomllib.TOMLDecodeError) as error:
        tomllib.loads(text)
    found_line, reason = syntax_problem(error.value, text)
    assert (found_line, says in reason) == (line, True)
