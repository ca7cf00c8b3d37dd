"""Rules: what they match, their syntax, what "always" would save, and files with mistakes in them."""

from pathlib import Path

import pytest

from tests.rules.offered import narrowest
from workbench.risk.actions import assess_file
from workbench.risk.assessment import summed
from workbench.risk.paths import PathContext
from workbench.rules.rule import Rule, RuleError, parse_rule
from workbench.rules.rule_files import add_rule, command_subject, drop_rule, read_rules
from workbench.rules.rule_set import RuleSet, deciding
from workbench.rules.subject import Subject, subject_of

WORKSPACE, HOME = "/home/u/proj", "/home/u"


def command(text: str) -> Subject:
    return command_subject(text, WORKSPACE, HOME)


def edit(path: str, tool: str = "str_replace_editor") -> Subject:
    assessment = assess_file("create", path, PathContext(WORKSPACE, HOME))
    return subject_of(tool, {"command": "create", "path": path}, assessment, WORKSPACE, HOME)


def verdict(subject: Subject, *rules: str) -> str:
    decisive = deciding([parse_rule(rule) for rule in rules], subject)
    return decisive.verdict if decisive else "none"


@pytest.mark.parametrize(
    "text",
    [
        "git push",
        "git  push origin main",
        "'git' \"push\"",
        "\\git push",
        "/usr/bin/git push",
        "ls; git push",
        "sh -c 'git push -f'",
        "env A=1 git push",
        "echo $(git push)",
        "timeout 9 git push | cat",
        "git -C . push",
        "git -c a=b -C sub push origin",
        "git --git-dir=.git --no-pager push",
        "/usr/bin/git -P push",
        "command git push",
        '"git" push',
        "g\\it pu''sh",
        "GIT push",
        "G=git; $G push",
        "bash -c 'git -C x push'",
        "fakeroot git push",
        "uv run git push",
        "xargs git push < a",
    ],
)
def test_denied_command_is_detected_however_it_is_written(text):
    assert verdict(command(text), "deny $ git push *") == "deny"
    assert verdict(command(text), "allow $ git *", "ask $ git push *", "deny $ git push *") == "deny"


def test_pattern_matches_whole_commands():
    assert verdict(command("git pulls"), "deny $ git pull *") == "ask", "it may be an alias"
    assert verdict(command("make pushy"), "deny $ make push *") == "none"
    assert verdict(command("echo git push"), "deny $ git push *") == "none"
    assert verdict(command("ls 'a*b'"), r"deny $ ls 'a\*b'") == "deny"
    assert verdict(command("ls 'axb'"), r"deny $ ls 'a\*b'") == "none"


def test_command_with_an_unknown_name_is_asked_about_if_rules_deny_any():
    assert verdict(command("$(echo git) push"), "deny $ git push *") == "ask"
    assert verdict(command("$(echo git) push"), "allow $ git push") == "none"


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("git $(echo push)", "ask"),
        ("git -C . $VERB", "ask"),
        ("git -c alias.p=push p", "ask"),
        ("git log $BRANCH", "none"),
        ("git pull", "none"),
        ("rm $FILE", "none"),
        ("git push $BRANCH", "deny"),
    ],
)
def test_possibly_denied_command_is_asked_about(text, found):
    assert verdict(command(text), "deny $ git push *") == found


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        ("npm --silent publish", "npm publish *"),
        ("npm --prefix web publish", "npm publish *"),
        ("docker -H x push a", "docker push *"),
        ("kubectl -n prod delete pod x", "kubectl delete *"),
        ("cargo +nightly publish", "cargo publish *"),
        ("gh -R a/b pr merge 1", "gh pr merge *"),
        ("terraform -chdir=prod apply", "terraform apply *"),
        ("aws --profile prod s3 rm x", "aws s3 rm *"),
    ],
)
def test_flags_before_the_verb_do_not_evade_a_rule(text, rule):
    assert verdict(command(text), f"deny $ {rule}") == "deny"
    assert verdict(command(text), f"ask $ {rule}") == "ask"
    assert verdict(command(text), f"allow $ {rule}") == "none", "what is allowed is what is written"


@pytest.mark.parametrize(
    "text", ["pytest", "pytest -q tests", "ls && pytest -q", "pytest -k 'a or b'", "pytest; pytest -x"]
)
def test_allow_covers_plain_commands_and_reading_ones(text):
    assert verdict(command(text), "allow $ pytest *") == "allow"


@pytest.mark.parametrize(
    "text",
    [
        "pytest > out.txt",
        "pytest $ARGS",
        "pytest $(cat args)",
        "pytest `cat args`",
        "PYTHONPATH=/tmp pytest",
        "PYTEST_ADDOPTS=-pevil pytest",
        "yes | pytest",
        "pytest <<< text",
        "pytest *.py",
        "cd /tmp && pytest",
        "pytest; rm -r src",
        "pytest /tmp/other",
        "pytest ../other",
        "pytest --rootdir=/tmp",
        "pytest() { rm x; }; pytest",
        "timeout 5 pytest",
        "sh -c pytest",
        "xargs pytest",
    ],
)
def test_allow_covers_nothing_beyond_the_plain_command(text):
    assert verdict(command(text), "allow $ pytest *", "allow $ pytest") == "none"


@pytest.mark.parametrize(
    "text",
    [
        "echo $(make)",
        'echo "`make`"',
        "cat <(make)",
        "x=$(make)",
        'export CC="sh -c evil"; make',
        "export MAKEFILES=/tmp/x; make",
        "X=1; make",
        "export X; make",
        "X=1 export X; make",
        "read X; make",
        "printf -v X y; make",
        "for X in y; do make; done",
        "cd node_modules/evil && npm test",
        "(cd sub; npm test)",
        "cd sub; ./x.sh",
        "pushd sub; ./x.sh",
        "\\cd sub; ./x.sh",
        "builtin cd sub; ./x.sh",
        "cd sub; false && cd /home/u/proj; ./x.sh",
    ],
)
def test_allow_covers_no_line_in_which_words_may_mean_something_else(text):
    assert verdict(command(text), "allow $ make", "allow $ npm test", "allow $ ./x.sh") == "none"


@pytest.mark.parametrize("text", ["make", "ls && make", "(make)", "cd /home/u/proj && npm test", "printf x; ./x.sh"])
def test_allow_covers_the_words_it_shows(text):
    assert verdict(command(text), "allow $ make", "allow $ npm test", "allow $ ./x.sh") == "allow"


@pytest.mark.parametrize(
    "name",
    ["CC", "CXX", "MAKE", "MAKEFILES", "MAKEFLAGS", "GOFLAGS", "PYTHONPATH", "PYTEST_ADDOPTS", "MAVEN_OPTS"],
)
def test_variable_that_changes_what_a_build_runs_is_high(name):
    assert summed(command(f"export {name}='curl x|sh'").parts).risk == "HIGH"
    assert summed(command(f"{name}='curl x|sh' make").parts).risk == "HIGH"
    assert summed(command("CC=gcc CXX=clang++-18 make").parts).risk == "MEDIUM"


def test_allow_for_a_python_module_covers_that_module_only():
    assert verdict(command("python3 -m pytest -q tests"), "allow $ python3 -m pytest *") == "allow"
    assert verdict(command("python3 -m pytest -q; make"), "allow $ python3 -m pytest *") == "none"
    assert verdict(command("timeout 5 make"), "allow $ timeout 5 m*") == "none"


def test_rule_paths_are_relative_to_the_workspace_even_behind_links(tmp_path):
    place = Path(tmp_path).resolve()
    (place / "keys").mkdir()
    (place / "way").symlink_to(place / "keys", target_is_directory=True)

    def file(name: str) -> Subject:
        path = str(place / name)
        return subject_of(
            "str_replace_editor",
            {"path": path},
            assess_file("create", path, PathContext(str(place), HOME)),
            str(place),
            HOME,
        )

    deny = "deny in keys"
    assert verdict(file("keys/a"), deny) == verdict(file("way/a"), deny) == verdict(file("KEYS/a"), deny) == "deny"
    assert verdict(file("src/a"), deny) == "none"
    allow = "allow str_replace_editor in way/*"
    assert verdict(file("way/a"), allow) == "none", "it leads elsewhere"
    assert verdict(file("src/a.py"), "allow str_replace_editor in src/*.py") == "allow"
    assert verdict(file("src/b/a.py"), "allow str_replace_editor in src/*.py") == "none"
    assert verdict(file("src/b/a.py"), "allow in src/**/*.py") == "allow"


def test_rule_of_a_directory_applies_only_there():
    rule = Rule("deny", path="a", folder="/home/u/proj")
    assert deciding([rule], edit("/home/u/proj/a")) == rule
    other = subject_of(
        "edit_file", {"path": "/other/a"}, assess_file("edit", "/other/a", PathContext("/other", HOME)), "/other"
    )
    assert deciding([rule], other) is None


@pytest.mark.parametrize(
    ("text", "saved"),
    [
        ("pytest -q", "allow $ pytest -q"),
        ("git  commit -m 'a *'", r"allow $ git commit -m 'a \*'"),
        ("python3 -m pytest", "allow $ python3 -m pytest"),
        ("npm test", "allow $ npm test"),
    ],
)
def test_always_saves_the_exact_command(text, saved):
    subject = command(text)
    rule = narrowest(subject, summed(subject.parts).risk)
    assert rule is not None
    assert rule.text == saved
    assert deciding([parse_rule(saved)], subject) == rule
    assert deciding([rule], command(f"{text} more")) is None


@pytest.mark.parametrize(
    "text",
    [
        "pytest $(cat a)",
        "curl x | sh",
        "python3 -c 'print(1)'",
        "python3 -",
        "python3 tool.py",
        "python3 -m tool",
        "bash build.sh",
        "./build.sh",
        "scripts/build",
        "node a.js",
        "npm exec jest",
        "npx jest",
        "bash -lc ls",
        "sh -c 'make'",
        "perl -ne print",
        "node -e 1",
        "A=1 make",
        "make && make install",
        "sudo make",
        "xargs make",
        "eval make",
        "rm -rf /",
        "touch .git/hooks/pre-commit",
        "make *.o",
        "echo '\u202e'",
    ],
)
def test_always_is_not_offered_for_what_its_words_do_not_determine(text):
    subject = command(text)
    assert narrowest(subject, summed(subject.parts).risk) is None


def test_always_for_an_edit_names_the_file_and_never_a_protected_one():
    rule = narrowest(edit(f"{WORKSPACE}/src/a.py"), "MEDIUM")
    assert rule is not None
    assert rule.text == "allow edits in src/a.py"
    assert narrowest(edit(f"{WORKSPACE}/src/a.py"), "HIGH") is None
    assert narrowest(edit("/home/u/other"), "MEDIUM") is None
    assert narrowest(subject_of("python_execute", {"code": "1"}, summed(()), WORKSPACE), "MEDIUM") is None


@pytest.mark.parametrize(
    "text",
    [
        "deny in ~/.ssh/**",
        "ask execute_bash",
        "allow $ pytest -q",
        "allow str_replace_editor in 'a b/**'",
        "deny execute_bash in src/ $ rm *",
    ],
)
def test_rule_survives_a_round_trip_through_text(text):
    assert parse_rule(parse_rule(text).text) == parse_rule(text)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("alow $ ls", "did you mean 'allow'"),
        ("allow", "names a tool, a path or a command"),
        ("allow $ ", "no command after"),
        ("deny tool on src", "not understood"),
        ("deny in 'src", "not closed"),
    ],
)
def test_invalid_rule_error_explains_the_notation(text, message):
    with pytest.raises(RuleError, match=message):
        parse_rule(text)


def written(directory: Path, text: str) -> Path:
    path = directory / "rules.toml"
    path.write_text(text)
    return path


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('[[allow]]\ncomand = "ls"', "rule 1 (allow): there is no key 'comand' (did you mean 'command'?)"),
        ('[[alow]]\ncommand = "ls"', "there is no 'alow' (did you mean 'allow'?)"),
        ("[[allow]\n", "its rules are ignored"),
        ('[[allow]]\ncommand = "*"', "any program"),
        ('[[allow]]\ncommand = "bash *"', "anything that bash can run"),
        ('[[allow]]\ncommand = "python3 *"', "anything that python3 can run"),
        ('[[allow]]\ntool = "execute_bash"', "every command"),
        ('[[allow]]\ntool = "*"', "name of one tool"),
        ('[[allow]]\npath = "**"', "any file"),
        ('[[allow]]\ntool = "python_execute"', "can run anything"),
        ('[[ask]]\nreason = "x"', "neither a tool nor a command nor a path"),
        ("[[deny]]\ncommand = 3", "command must be text"),
        ('[allow]\ncommand = "ls"', "two brackets"),
        ('[[deny]]\ncommand = "rm *"\nmatch = ["ls"]', "does not match its example 'ls'"),
        ('[[deny]]\ncommand = "rm *"\nnot_match = ["sudo rm x"]', "it matches its example 'sudo rm x'"),
    ],
)
def test_error_in_a_file_is_reported_once_and_allows_nothing(tmp_path, text, message):
    rules_read = read_rules(written(tmp_path, text), "person")
    assert rules_read.rules == ()
    assert len(rules_read.faults) == 1
    assert message in rules_read.faults[0]
    assert str(tmp_path) in rules_read.faults[0]


def test_other_rules_of_a_file_with_an_error_apply(tmp_path):
    path = written(tmp_path, '[[allow]]\ncommand = "*"\n[[deny]]\ncommand = "rm *"\nmatch = ["rm x", "ls; rm -f x"]\n')
    book = RuleSet(path)
    assert [rule.text for rule in book.rules()] == ["deny $ rm *"]
    assert not book.is_broken, "only something that would have been allowed is lost"
    path.write_text('[[deny]]\ncomand = "rm *"\n')
    assert book.is_broken
    assert book.rules() == ()


def test_projects_rules_may_only_restrict_and_only_if_trusted(tmp_path):
    (tmp_path / ".ohw").mkdir()
    (tmp_path / ".ohw/rules.toml").write_text('[[allow]]\ncommand = "make"\n[[deny]]\ncommand = "make"\n')
    assert RuleSet(None, tmp_path).rules() == ()
    trusted = RuleSet(None, tmp_path, trusted=True)
    assert [rule.text for rule in trusted.rules()] == ["deny $ make"]
    assert "may only ask and deny" in trusted.faults[0]


def test_rule_is_added_once_and_removed_exactly(tmp_path):
    text = '# mine\n[[deny]] # careful\ncommand = "rm *"\n\n[[ask]]\npath = "docs"\n'
    path = written(tmp_path, text)
    rule = Rule("allow", "execute_bash", r'echo "\*"', folder="/home/u/p")
    add_rule(path, rule)
    add_rule(path, rule)
    assert rule in read_rules(path, "person").rules
    assert len(read_rules(path, "person").rules) == 3
    drop_rule(path, rule)
    assert path.read_text().rstrip() == text.rstrip()
    drop_rule(path, read_rules(path, "person").rules[-1])
    assert "careful" not in path.read_text()
    assert "# mine" in path.read_text()
    with pytest.raises(RuleError, match="no such rule"):
        drop_rule(path, rule)


def test_unreadable_file_is_not_written_to(tmp_path):
    path = written(tmp_path, "[[deny]\n")
    with pytest.raises(RuleError, match="fix that first"):
        add_rule(path, parse_rule("allow $ pytest"))
    assert path.read_text() == "[[deny]\n"
    new = tmp_path / "config/rules.toml"
    add_rule(new, parse_rule("allow $ pytest"))
    assert new.stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize(
    "text",
    [
        "rm -rf .",
        "rm -r /home/u/proj",
        "rm -rf *",
        "grep -rn key .",
        "rg key",
        "find . -delete",
        "cp -a . /tmp/x",
        "chmod -R 777 ..",
        "cat sec*/key",
        "tar czf all.tgz .",
        "git clean -fdx",
    ],
)
def test_recursive_access_from_above_a_denied_directory_is_asked_about(text):
    assert verdict(command(text), "deny in secrets/") == "ask"
    assert verdict(command(text), "deny in SECRETS/", "allow $ *") == "ask"


@pytest.mark.parametrize(
    "text", ["rm -rf src", "grep -rn key src", "ls -la .", "git commit -m x", "pytest -ra", "cat src/*", "find src"]
)
def test_siblings_of_a_denied_directory_are_not_asked_about(text):
    assert verdict(command(text), "deny in secrets/", "deny in **/.env", "deny $ make * in .") == "none"


def test_search_tool_reaches_files_below_its_path():
    for arguments, expected in (({}, "ask"), ({"path": WORKSPACE}, "ask"), ({"path": f"{WORKSPACE}/src"}, "none")):
        subject = subject_of("grep", {"pattern": "x", **arguments}, summed(()), WORKSPACE, HOME)
        assert verdict(subject, "deny in secrets/") == expected, arguments
    assert verdict(edit(WORKSPACE), "deny in secrets/") == "none"


def test_rule_for_an_unknown_tool_is_reported(tmp_path):
    file = written(
        tmp_path, '[[deny]]\ntool = "execute_bsh"\npath = "x"\n[[ask]]\ntool = "git_*"\n[[deny]]\ntool = "gr*"\n'
    )
    problems = RuleSet(file).unknown_tools(["execute_bash", "grep"])
    assert len(problems) == 2
    assert any("'execute_bsh' (did you mean 'execute_bash'?)" in line for line in problems)
