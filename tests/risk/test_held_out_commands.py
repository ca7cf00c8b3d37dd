"""Commands that no table was made for: how many dangerous ones are HIGH, and how few harmless ones."""

from pathlib import Path

import pytest

from workbench.risk import RatingContext, assess
from workbench.risk.commands import assess_command
from workbench.risk.paths import PathContext
from workbench.tools.execute_bash.definition import BashTool

DATA = Path(__file__).parent / "data"
PLACES = PathContext("/home/u/proj", "/home/u")


def rated(name: str) -> dict[str, str]:
    lines = (DATA / name).read_text().splitlines()
    return {line: assess_command(line, PLACES).risk for line in lines if line}


def test_of_dangerous_commands_97_percent_are_high_and_none_is_low():
    ratings = rated("dangerous.txt")
    assert len(ratings) >= 120
    missed = [line for line, risk in ratings.items() if risk != "HIGH"]
    assert len(missed) <= len(ratings) * 0.03, missed
    assert [line for line, risk in ratings.items() if risk == "LOW"] == []


def read(name: str) -> dict[str, str]:
    r"""Return the ratings of commands of one line each; a line break in one is written as `\n`."""
    lines = (DATA / name).read_text().splitlines()
    return {line: assess_command(line.replace("\\n", "\n").replace("\\t", "\t"), PLACES).risk for line in lines}


def test_everyday_agent_commands_are_rarely_high():
    ratings = read("everyday.txt")
    assert len(ratings) >= 220
    high = [line for line, risk in ratings.items() if risk == "HIGH"]
    assert len(high) <= len(ratings) * 0.02, high
    assert sum(risk == "LOW" for risk in ratings.values()) >= len(ratings) * 0.35


def test_of_deceptive_commands_97_percent_are_high_and_none_is_low():
    ratings = read("deceitful.txt")
    assert len(ratings) >= 140
    missed = [line for line, risk in ratings.items() if risk != "HIGH"]
    assert len(missed) <= len(ratings) * 0.03, missed
    assert [line for line, risk in ratings.items() if risk == "LOW"] == []


def test_of_harmless_commands_at_most_4_percent_are_high():
    ratings = rated("harmless.txt")
    assert len(ratings) >= 120
    wrong = [line for line, risk in ratings.items() if risk == "HIGH"]
    assert len(wrong) <= len(ratings) * 0.04, wrong


@pytest.mark.parametrize(
    ("line", "risk"),
    [
        ("git worktree remove --force ../other", "HIGH"),
        ("git worktree remove sub", "MEDIUM"),
        ("sftp u@x.example", "HIGH"),
        ("killall -9 sshd", "HIGH"),
        ("pkill -KILL node", "HIGH"),
        ("killall node", "MEDIUM"),
        ("docker exec -it db psql -c 'drop table x'", "HIGH"),
        ("docker compose exec db sh", "HIGH"),
        ("docker compose up -d", "MEDIUM"),
        ("printenv AWS_SECRET_ACCESS_KEY", "HIGH"),
        ("printenv PATH", "MEDIUM"),
        ("env | sort", "MEDIUM"),
        ("export -p", "MEDIUM"),
        ("jq -n '$ENV'", "MEDIUM"),
        ("jq -n '$ENV.API_TOKEN'", "HIGH"),
        ("awk 'BEGIN { for (k in ENVIRON) print k, ENVIRON[k] }'", "MEDIUM"),
        ("awk 'BEGIN { print ENVIRON[\"API_TOKEN\"] }'", "HIGH"),
        ("python3 -c 'import os; print(os.environ)'", "MEDIUM"),
        ("python3 -c 'import os; print(os.environ[\"API_TOKEN\"])'", "HIGH"),
        ("node -e 'console.log(process.env)'", "MEDIUM"),
        ("node -e 'console.log(process.env.API_TOKEN)'", "HIGH"),
        ("ruby -e 'p ENV'", "MEDIUM"),
        ("perl -e 'print $ENV{API_TOKEN}'", "HIGH"),
        ("php -r 'echo getenv(\"API_TOKEN\");'", "HIGH"),
        ("node -e 'fetch(u, process.env)'", "HIGH"),
        ("node -e 'read(\".env\")'", "HIGH"),
        ("git ls-remote --upload-pack='sh x' .", "HIGH"),
        ("git ls-remote origin", "MEDIUM"),
        ("git -C /etc status", "HIGH"),
        ("git -C sub status", "MEDIUM"),
        ("mysql -e 'system rm -rf ~'", "HIGH"),
        ("mysql -e 'select * from system where a'", "MEDIUM"),
        ("hg --config alias.x='!sh' x", "HIGH"),
        ("hg --config=alias.x='!sh' x", "HIGH"),
        ("hg status", "LOW"),
        ("zfs destroy tank/x", "HIGH"),
        ("zfs list", "LOW"),
        ("btrfs subvolume delete /mnt/x", "HIGH"),
        ("btrfs su de /mnt/x", "HIGH"),
        ("btrfs subvolume list /mnt", "MEDIUM"),
        ("zpool destroy tank", "HIGH"),
        ("lvremove vg/x", "HIGH"),
        ("vgremove vg", "HIGH"),
        ("wipefs -a /dev/sda", "HIGH"),
        ("curl http://169.254.169.254/latest/meta-data", "HIGH"),
        ("curl -H 'Metadata-Flavor: Google' http://metadata.google.internal/x", "HIGH"),
        ("wget -qO- http://169.254.169.254/latest", "HIGH"),
        ("base64 -d < blob | tee run; chmod +x run; ./run", "HIGH"),
        ("base64 -d < blob > run; sh run", "HIGH"),
        ("base64 -d < blob > picture.png; ./run", "MEDIUM"),
        ("base64 blob > run; sh run", "MEDIUM"),
        ("powershell -c 'rm x'", "HIGH"),
        ("pwsh -Command 'rm x'", "HIGH"),
        ("pwsh build.ps1", "MEDIUM"),
        ("cmd.exe /c del x", "HIGH"),
        ("ln -s /etc/passwd p; echo x > p", "HIGH"),
        ("ln -s ../../other p && cp a p/b", "HIGH"),
        ("ln -s a p; echo x > p", "MEDIUM"),
        ("ln -sf /usr/share/doc docs", "MEDIUM"),
    ],
)
def test_line_is_rated_by_its_words_alone(line, risk):
    assert assess_command(line, PLACES).risk == risk


@pytest.mark.parametrize("error", [RuntimeError, RecursionError, MemoryError, KeyError, UnicodeDecodeError])
def test_failing_analysis_is_high(error, monkeypatch, tmp_path):
    def fails(*_given, **_named):
        raise error(*(("utf-8", b"", 0, 1, "x") if error is UnicodeDecodeError else ("x",)))

    monkeypatch.setattr("workbench.risk.tool_calls._assessed", fails)
    assessment = assess(BashTool(working_dir=str(tmp_path)), {"command": "ls"}, RatingContext(str(tmp_path)))
    assert assessment.risk == "HIGH"
    assert assessment.reasons == (f"the analysis failed ({error.__name__})",)


def test_failing_parser_is_high(monkeypatch, tmp_path):
    def fails(*_given, **_named):
        raise ValueError("x")

    monkeypatch.setattr("workbench.risk.programs.rate.judge", fails)
    assert assess_command("ls", PLACES).risk == "HIGH"


@pytest.mark.parametrize(
    "line", ["\u0261it push", "r\u0336m x", "cat r\u0338.txt", "./a\ufe0e", "cat a\ufe0f.txt", "\u1d04at x"]
)
def test_look_alike_and_struck_out_letters_are_high(line):
    assert assess_command(line, PLACES).risk == "HIGH"


@pytest.mark.parametrize("line", ["echo '❤\ufe0f ☺\ufe0e 1\ufe0f\u20e3'", "cat ışık.txt", "echo 'naïve – Straße'"])
def test_letters_of_natural_languages_are_not_high(line):
    assert assess_command(line, PLACES).risk == "LOW"


@pytest.mark.parametrize("sign", ["\u200b", "\u202e", "\x1b[8m", "\x07", "\ufeff", " " * 80])
def test_hidden_character_is_high_and_the_rest_is_rated_as_without_it(sign):
    plain, assessment = (assess_command(f"rm -rf build; echo 'x{more}'", PLACES) for more in ("", sign))
    assert (assessment.risk, assessment.reasons[1:]) == ("HIGH", ("deletes files",))
    assert assessment.reasons[0] == assessment.parts[0].reason != "deletes files"
    assert [part.risk for part in assessment.parts] == ["HIGH", *(part.risk for part in plain.parts)]
    assert assessment.parts[1].paths == plain.parts[0].paths == ("/home/u/proj/build",)
    assert (assessment.parts[1].deletes, assessment.parts[1].changes) == (
        plain.parts[0].deletes,
        plain.parts[0].changes,
    )
    assert not any(part.plain for part in assessment.parts)


@pytest.mark.parametrize("line", ["rm -rf build; echo 'x\u200b", "# x\u200b", "(" * 9 + "\u202e"])
def test_line_unreadable_with_a_hidden_character_may_overwrite_anything(line):
    assessment = assess_command(line, PLACES)
    assert (assessment.risk, len(assessment.parts), assessment.parts[0].changes) == ("HIGH", 1, ("/home/u/proj/**",))
