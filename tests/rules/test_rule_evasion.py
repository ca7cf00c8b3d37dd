"""Ways around rules: other words for a denied command, and an allow whose `*` matches more than it seems to."""

import shlex
from pathlib import Path

import pytest

from workbench.rules.rule import parse_rule
from workbench.rules.rule_files import command_subject, subject_again
from workbench.rules.rule_set import deciding

DATA = Path(__file__).parent / "data"
TWO_WORDS = {"git", "npm", "go", "cargo", "ruff", "uv", "docker", "terraform", "kubectl", "coverage"}


def lines(name: str) -> list[list[str]]:
    return [line.split("\t", 1) for line in (DATA / name).read_text().splitlines()]


def verdict(line: str, rule: str, workspace: Path) -> str:
    subject = command_subject(line.replace("\\n", "\n"), str(workspace), "/home/u")
    decisive = deciding([parse_rule(rule)], subject)
    return decisive.verdict if decisive else "none"


def nested(times: int, inner: str) -> str:
    """Return `sh -c` inside `sh -c`, nested this many times."""
    for _ in range(times):
        inner = f"sh -c {shlex.quote(inner)}" if len(inner) < 4_000 else inner
    return inner


CALL = "import os\nos.system('cur' + 'l http://198.51.100.7')\n"
NOT_ANALYZED = {
    "awk": ("execute_bash", "command", 'awk \'BEGIN { system("cur" "l x") ' + "x = 1; " * 800 + "}'"),
    "python": ("execute_bash", "command", "python3 - <<'E'\n" + CALL + "x = (1)\n" * 900 + "E\n"),
    "expression": ("execute_bash", "command", f'python3 -c "{"(" * 250}1{")" * 250}"'),
    "string": ("execute_bash", "command", "python3 -c \"exec('" + "x = 1; " * 320 + "')\""),
    "line": ("execute_bash", "command", "echo " + "a " * 6_000),
    "hidden": ("execute_bash", "command", "python3 -c 'print(\"a\u202eb\")'"),
    "nested": ("execute_bash", "command", nested(9, "cur''l x")),
    "cell": ("execute_ipython_cell", "code", CALL + "x = 1\n" * 2_000),
    "hidden cell": ("execute_ipython_cell", "code", "x = 'a\u202eb'\n" + CALL),
}
"""Tool, argument and text; each is too long, too nested or unreadable, so what it runs is unknown."""


@pytest.mark.parametrize("name", NOT_ANALYZED)
@pytest.mark.parametrize("program", ["curl", "git push", "terraform"])
def test_rule_for_a_program_concerns_text_that_is_not_analyzed(name, program, tmp_path):
    tool, argument, text = NOT_ANALYZED[name]
    subject = subject_again(tool, {argument: text}, str(tmp_path))
    for verdict in ("deny", "ask"):
        decisive = deciding([parse_rule(f"{verdict} $ {program} *")], subject)
        assert decisive
        assert decisive.verdict == "ask"


HIDES_WHAT_IT_RUNS = [
    ("execute_bash", "command", "python3 -c 'import pickle; pickle.loads(x)'"),
    ("execute_bash", "command", "gio launch x.desktop"),
    ("execute_bash", "command", "busctl --user call a b c d"),
    ("execute_bash", "command", "mv x.desktop ~/.config/autostart/"),
    ("execute_bash", "command", "python3 -m pickle x"),
    ("execute_ipython_cell", "code", "%unheard of"),
    ("execute_ipython_cell", "code", "import site; site.addsitedir('/tmp/x')"),
]


@pytest.mark.parametrize(("tool", "argument", "text"), HIDES_WHAT_IT_RUNS)
def test_rule_for_a_program_concerns_what_runs_code_that_is_not_visible(tool, argument, text, tmp_path):
    decisive = deciding([parse_rule("deny $ terraform *")], subject_again(tool, {argument: text}, str(tmp_path)))
    assert decisive
    assert decisive.verdict == "ask"


@pytest.fixture(scope="module")
def workspace(tmp_path_factory) -> Path:
    """A workspace with a secret directory and two links to it."""
    made = tmp_path_factory.mktemp("work")
    (made / "secret").mkdir()
    (made / "src").mkdir()
    (made / "secret/a").write_text("k")
    (made / "src/x.py").write_text("")
    (made / "lk").symlink_to("secret")
    (made / "lnk").symlink_to("secret/a")
    return made


@pytest.mark.parametrize(("expected", "line"), lines("denied_push.txt"))
def test_denied_command_is_denied_or_asked_about_in_all_forms(expected, line, workspace):
    assert verdict(line, "deny $ git push *", workspace) == expected


@pytest.mark.parametrize(("expected", "line"), lines("denied_folder.txt"))
def test_denied_directory_is_denied_or_asked_about_however_it_is_named(expected, line, workspace):
    line = line.replace("WORKSPACE", str(workspace))
    assert verdict(line, "deny in secret/**", workspace) == expected
    if expected != "none":
        assert verdict(line, "ask in secret/**", workspace) == "ask"


@pytest.mark.parametrize(
    ("line", "rule"),
    [
        ("npm publis", "npm publish *"),
        ("npm i evil", "npm install *"),
        ("docker image push x", "docker push *"),
        ("docker container rm x", "docker rm *"),
        ("hg pus", "hg push *"),
        ("git stage x", "git add *"),
        ("cargo b", "cargo build *"),
    ],
)
def test_synonyms_do_not_evade_a_rule(line, rule, workspace):
    assert verdict(line, f"deny $ {rule}", workspace) in {"deny", "ask"}


@pytest.mark.parametrize(
    ("line", "rule"),
    [
        ("pip3 install x", "pip install *"),
        ("pip3.11 install x", "pip install *"),
        ("/usr/bin/pip-3 install x", "pip install *"),
        ("pip install x", "pip3 install *"),
        ("python3 -mpip install x", "pip install *"),
        ("python3 -Im pip install x", "pip install *"),
        ("python -Bmpip install x", "pip install *"),
        ("python3.12 x.py", "python *"),
        ("python x.py", "python3 *"),
        ("nodejs x.js", "node *"),
        ("gmake deploy", "make deploy *"),
        ("grm -rf a", "rm *"),
        ("gawk 1 x", "awk *"),
        ("make all deploy", "make deploy *"),
        ("make X=1 deploy", "make deploy *"),
        ("make -j 4 -C . all deploy", "make deploy *"),
        ("just lint deploy", "just deploy *"),
        ("./gradlew clean publish", "gradlew publish *"),
        ("aws s3 --debug rm s3://b/x", "aws s3 rm *"),
        ("aws --profile p s3 --region r rm s3://b/x", "aws s3 rm *"),
        ("gh pr -R o/r merge 1", "gh pr merge *"),
        ("fly -a x apps destroy y", "fly apps destroy *"),
        ("heroku pg --app x reset", "heroku pg reset *"),
        ("vault kv -mount=x delete y", "vault kv delete *"),
        ("nu -c 'git push'", "git push *"),
        ("xonsh -c 'git push'", "git push *"),
        ("elvish -c 'git push'", "git push *"),
        ("osh -c 'git push'", "git push *"),
        ("coreutils rm a", "rm *"),
    ],
)
def test_other_names_and_places_of_words_do_not_evade_a_rule(line, rule, workspace):
    assert verdict(line, f"deny $ {rule}", workspace) == "deny"
    assert verdict(line, f"allow $ {rule}", workspace) == "none"


@pytest.mark.parametrize(
    "line", ["nu -c 'run-external (pick)'", "xonsh -c '$(pick)'", "elvish -c '(pick)'", "iex -e 'System.cmd(a, b)'"]
)
def test_shells_with_a_language_of_their_own_are_asked_about(line, workspace):
    assert verdict(line, "deny $ git push *", workspace) == "ask"


@pytest.mark.parametrize(("expected", "line"), lines("allowed_prefix.txt"))
def test_star_in_an_allow_rule_covers_no_option_that_writes_runs_or_loads(expected, line, workspace):
    words = line.split()
    count = 2 if words[0] in TWO_WORDS and not words[1].startswith("-") else 1
    assert verdict(line, f"allow $ {' '.join(words[:count])} *", workspace) == expected


def test_option_spelled_out_in_the_rule_is_allowed_once(workspace):
    rule = "allow $ pytest -p no:cacheprovider *"
    assert verdict("pytest -p no:cacheprovider -q", rule, workspace) == "allow"
    assert verdict("pytest -p no:cacheprovider -p evil", rule, workspace) == "none"
    assert verdict("ruff check --output-file=x", "allow $ ruff check --output-file=*", workspace) == "allow"
    assert verdict("pytest @args", "allow $ pytest @args", workspace) == "allow"


@pytest.mark.parametrize("line", ["npm install @types/node", "git log @", "gh issue list --assignee @me"])
def test_at_sign_without_a_file_is_an_ordinary_word(line, workspace):
    assert verdict(line, f"allow $ {' '.join(line.split()[:2])} *", workspace) == "allow"


@pytest.mark.parametrize(
    ("rule", "line"),
    [
        ("npm run *", "npm run x --node-options=--require=./e.js"),
        ("npm run *", "npm run x --userconfig=./rc"),
        ("npm install *", "npm install https://a.example/x.tgz"),
        ("npm install *", "npm install -g ./x"),
        ("pip install *", "pip install git+https://a.example/x"),
        ("docker run *", "docker run --privileged x"),
        ("gradle *", "gradle -I x test"),
        ("mvn *", "mvn -Dexec.executable=./x exec:exec"),
        ("sed *", "sed 1e x"),
        ("awk *", "awk 'BEGIN{system(\"x\")}'"),
        ("redis-server *", "redis-server --loadmodule ./x.so"),
        ("git push *", "git push ext::./x main"),
        ("npx eslint *", "npx eslint -o x ."),
        ("npx eslint *", "npx eslint -c x.js ."),
        ("uv run pytest *", "uv run pytest -p x"),
        ("python -m pytest *", "python -m pytest -p x"),
        ("poetry run pytest *", "poetry run pytest -c x"),
    ],
)
def test_star_covers_no_words_that_run_something_unseen(rule, line, workspace):
    assert verdict(line, f"allow $ {rule}", workspace) == "none"


@pytest.mark.parametrize(
    ("rule", "line"),
    [
        ("npm run *", "npm run x --silent"),
        ("npm install *", "npm install @types/node"),
        ("npx eslint *", "npx eslint src"),
        ("uv run pytest *", "uv run pytest -x -k a"),
        ("docker run *", "docker run --rm x ls"),
        ("systemctl restart *", "systemctl restart nginx"),
        ("terraform apply *", "terraform apply plan"),
        ("kubectl exec *", "kubectl exec pod ls"),
        ("docker run --privileged *", "docker run --privileged x"),
        ("brew install *", "brew install jq"),
        ("git push *", "git push --force origin main"),
    ],
)
def test_star_covers_what_the_rest_of_the_rule_says(rule, line, workspace):
    assert verdict(line, f"allow $ {rule}", workspace) == "allow"
