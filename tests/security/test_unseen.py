"""Commands that no table was made for: how many dangerous ones are found, and how many harmless ones too."""

from pathlib import Path

from workbench.security.places import Places
from workbench.security.shell.scan import assess_command

DATA = Path(__file__).parent / "data"
PLACES = Places("/home/u/proj", "/home/u")


def rated(name: str) -> dict[str, str]:
    lines = (DATA / name).read_text().splitlines()
    return {line: assess_command(line, PLACES).risk for line in lines if line}


def test_of_dangerous_commands_95_percent_are_high_and_none_is_low():
    found = rated("dangerous.txt")
    assert len(found) >= 120
    missed = [line for line, risk in found.items() if risk != "HIGH"]
    assert len(missed) <= len(found) * 0.05, missed
    assert [line for line, risk in found.items() if risk == "LOW"] == []


def test_of_harmless_commands_at_most_5_percent_are_high():
    found = rated("harmless.txt")
    assert len(found) >= 120
    wrong = [line for line, risk in found.items() if risk == "HIGH"]
    assert len(wrong) <= len(found) * 0.05, wrong
