"""Lines written without knowledge of the tables: dangerous ones, odd ones, and what people type every day."""

import shlex
from pathlib import Path

import pytest

from workbench.risk.cells import assess_cell
from workbench.risk.commands import assess_command
from workbench.risk.paths import PathContext
from workbench.risk.terminal_input import Waiting, assess_typed

DATA = Path(__file__).parent / "data"
PLACES = PathContext("/home/u/proj", "/home/u")


def lines(name: str) -> list[str]:
    return (DATA / f"stranger_{name}.txt").read_text().splitlines()


def rated(line: str) -> str:
    return assess_command(line.replace("\\n", "\n") if "<<" in line else line, PLACES).risk


def test_of_dangerous_samples_97_percent_are_high_and_none_is_low():
    ratings = {line: rated(line) for line in lines("dangerous")}
    assert len(ratings) >= 590
    missed = [line for line, risk in ratings.items() if risk != "HIGH"]
    assert len(missed) <= len(ratings) * 0.03, missed
    assert [line for line in missed if ratings[line] == "LOW"] == []


def test_odd_samples_are_never_low():
    odd = lines("odd")
    assert len(odd) >= 740
    assert [line for line in odd if rated(line) == "LOW"] == []


def test_of_everyday_samples_at_most_4_percent_are_high_and_reading_is_low():
    ratings = {line: (kind, rated(line)) for kind, line in (each.split("\t", 1) for each in lines("everyday"))}
    assert len(ratings) >= 450
    high = [line for line, (_, risk) in ratings.items() if risk == "HIGH"]
    assert len(high) <= len(ratings) * 0.04, high
    reads = [line for line, (kind, _) in ratings.items() if kind == "reads"]
    low = [line for line in reads if ratings[line][1] == "LOW"]
    assert len(low) >= len(reads) * 0.9, sorted(set(reads) - set(low))


@pytest.mark.parametrize("line", lines("typed"))
def test_input_to_a_program_is_not_low_and_high_if_dangerous(line):
    level, program, text = line.split("\t")
    risk = assess_typed(text, [Waiting(tuple(shlex.split(program)), PLACES.workspace)], PLACES, PLACES.workspace).risk
    assert risk == "HIGH" if level == "HIGH" else risk != "LOW"


def test_cells_are_never_low_and_rarely_below_high_if_dangerous():
    cells = [line.split("\t", 1) for line in lines("cells")]
    rated_cells = [(level, code, assess_cell(code.replace("\\n", "\n"), PLACES).risk) for level, code in cells]
    assert [code for _, code, risk in rated_cells if risk == "LOW"] == []
    missed = [code for level, code, risk in rated_cells if level == "HIGH" and risk != "HIGH"]
    assert len(missed) <= 1, missed


@pytest.mark.parametrize(
    "text",
    ["delete all", "drop users", "please purge it", "show x\nterminate i-1", "volumes rm vol-1", "reset", "prune -a"],
)
def test_destructive_verb_typed_into_an_unknown_program_is_high(text):
    assert assess_typed(text, [Waiting(("frobctl",), PLACES.workspace)], PLACES, PLACES.workspace).risk == "HIGH"


@pytest.mark.parametrize(
    ("program", "text"),
    [
        ("rails console", "User.destroy_all"),
        ("rails console", "Order.where(paid: false).delete_all"),
        ("php artisan tinker", "User::truncate()"),
        ("php artisan tinker", "DB::table('users')->truncate();"),
        ("php artisan tinker", "shell_exec('id')"),
        ("bundle exec irb", "FileUtils.rm_rf('x')"),
        ("stdbuf -o0 python3", "os.remove('x')"),
        ("python manage.py shell", "User.objects.all().delete()"),
        ("some-console", "os.system('id')"),
        ("some-console", "client.dropDatabase()"),
    ],
)
def test_code_typed_into_a_console_that_is_not_known_is_high(program, text):
    waiting = [Waiting(tuple(program.split()), PLACES.workspace)]
    assert assess_typed(text, waiting, PLACES, PLACES.workspace).risk == "HIGH"


@pytest.mark.parametrize("text", ["name.md", "my-app (v2)", "hello (world)", "main.py", "v1.2.0", "a.b@c.example"])
def test_names_typed_as_answers_stay_unknown(text):
    assert assess_typed(text, [Waiting(("frobctl",), PLACES.workspace)], PLACES, PLACES.workspace).risk == "UNKNOWN"


@pytest.mark.parametrize("text", ["y", "yes", "1", "show logs", "list volumes", "do not worry about a delete", ""])
def test_other_text_typed_into_an_unknown_program_stays_unknown(text):
    assert assess_typed(text, [Waiting(("frobctl",), PLACES.workspace)], PLACES, PLACES.workspace).risk == "UNKNOWN"
