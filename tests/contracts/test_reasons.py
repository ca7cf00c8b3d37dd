"""Reasons are for the user: code that makes decisions checks their traits and never reads their text."""

import ast
import pickle
from collections.abc import Iterator
from copy import copy, deepcopy
from dataclasses import replace
from pathlib import Path

import pytest

from tests.contracts.source import Module, imports, modules
from workbench.protocol.codec import encode, without_surrogates
from workbench.protocol.deletion_list import DeletionList
from workbench.protocol.events import ActionAssessed, event_from_json
from workbench.risk.assessment import Assessment
from workbench.risk.cells import assess_cell
from workbench.risk.commands import assess_command
from workbench.risk.paths import PathContext
from workbench.risk.python.rate import Judge
from workbench.risk.reason import Reason, Trait, traits_of
from workbench.risk.shell.call import Call
from workbench.rules.offers import offers
from workbench.rules.protected_writes import unplaced_write
from workbench.rules.rule import parse_rule
from workbench.rules.rule_set import deciding
from workbench.rules.subject import Subject, subject_of
from workbench.session.actions.assess import reasons, segments

DATA = Path(__file__).parent.parent
PLACES = PathContext("/home/u/proj", "/home/u")
RULES = [
    parse_rule(rule)
    for rule in (
        "deny $ curl *",
        "ask $ git push *",
        "deny $ at *",
        "deny in secret/**",
        "ask in ~/notes/**",
        "allow $ git *",
        "allow edits in **",
    )
]


def _lines() -> list[str]:
    """Return every third line of the tables with dangerous lines and with lines that evade rules."""
    names = ("risk/data/proof.txt", "risk/data/stranger_odd.txt", "risk/data/services.txt", "risk/data/embedded.txt")
    names += ("rules/data/denied_push.txt", "rules/data/denied_folder.txt", "rules/data/denied_command_forms.txt")
    lines = [line.rpartition("\t")[2] for name in names for line in (DATA / name).read_text().splitlines()]
    return [*dict.fromkeys(lines)][::3]


def _codes() -> list[str]:
    lines = (DATA / "risk/data/python_dangerous.txt").read_text().splitlines()
    return [line.replace("\\n", "\n") for line in lines]


def _line(text: str) -> tuple[Assessment, Subject]:
    assessment = assess_command(text, PLACES)
    return assessment, subject_of("execute_bash", {"command": text}, assessment, PLACES.workspace, PLACES.home)


def _cell(code: str) -> tuple[Assessment, Subject]:
    assessment = assess_cell(code, PLACES)
    return assessment, subject_of("execute_ipython_cell", {"code": code}, assessment, PLACES.workspace, PLACES.home)


def _decisions(subject: Subject) -> list[object]:
    """Return everything that rules decide about the action, and what "always" offers for it."""
    verdicts = [rule and (rule.verdict, rule.text) for rule in (deciding([each], subject) for each in RULES)]
    return [*verdicts, unplaced_write(subject), offers(subject, "MEDIUM", "medium")]


def _without_text(reason: str) -> str:
    return Reason("…", traits_of(reason)) if reason else ""


def _blank(subject: Subject) -> Subject:
    return replace(subject, parts=tuple(each._replace(reason=_without_text(each.reason)) for each in subject.parts))


@pytest.mark.parametrize(("rate", "texts"), [(_line, _lines()), (_cell, _codes())], ids=["lines", "cells"])
def test_rules_and_offers_decide_the_same_without_the_text_of_reasons(rate, texts):
    assert len(texts) > 200
    subjects = [rate(text)[1] for text in texts]
    assert [_decisions(_blank(each)) for each in subjects] == [_decisions(each) for each in subjects]


@pytest.mark.parametrize(("rate", "texts"), [(_line, _lines()), (_cell, _codes())], ids=["lines", "cells"])
def test_analysis_rates_the_same_without_the_text_of_reasons(monkeypatch, rate, texts):
    def rated() -> list[object]:
        return [[(part.text, part.risk, part.traits, part.protected) for part in rate(text)[0].parts] for text in texts]

    before = rated()
    raise_to, report = Call.raise_to, Judge.report
    monkeypatch.setattr(Call, "raise_to", lambda call, risk, why: raise_to(call, risk, _without_text(why)))
    monkeypatch.setattr(
        Judge, "report", lambda judge, node, risk, why, **more: report(judge, node, risk, _without_text(why), **more)
    )
    assert rated() == before
    assert any(part.reason == "…" for text in texts for part in rate(text)[0].parts)


@pytest.mark.parametrize(("rate", "texts"), [(_line, _lines()), (_cell, _codes())], ids=["lines", "cells"])
def test_reason_that_says_what_runs_has_the_trait(rate, texts):
    verbs = ("runs ", "may run ", "starts a shell", "loads ")
    parts = [part for text in texts for part in rate(text)[0].parts if part.risk == "HIGH"]
    named = [part for part in parts if part.reason.startswith(verbs)]
    assert len(named) > 20
    assert [part.reason for part in named if Trait.RUNS not in part.traits] == []


@pytest.mark.parametrize(
    ("rule", "line"),
    [
        ("deny in secrets/**", "foobar sync --host 0.0.0.0"),
        ("deny in secrets/**", "foobar --plugin /tmp/p.so sync"),
        ("deny in secrets/**", "chezmoi apply --force"),
        ("deny $ curl *", "gotty -w bash"),
        ("deny $ curl *", "tar -xPf a.tar --to-command=./x"),
        ("deny $ curl *", "vim -c '!cu\"\"rl x' /etc/passwd"),
        ("deny $ curl *", "git push --force --receive-pack=./x o m"),
    ],
)
def test_what_makes_a_command_riskier_hides_no_trait_from_rules(rule, line):
    assert _line(line)[0].risk == "HIGH"
    deciding_rule = deciding([parse_rule(rule)], _line(line)[1])
    assert deciding_rule is not None
    assert deciding_rule.verdict == "ask"


_RUNNERS = """
ssh -o ProxyCommand=./x host
ssh -o'ProxyCommand "./x"' host
ssh -o PKCS11Provider=./x.so host
scp -S ./x a host:b
scp -o LocalCommand=./x a host:b
sftp -o ProxyCommand=./x host
sftp -S ./x host
rsync -e ./x a host:b
sshfs -o ssh_command=./x host: m
nc -e ./x host 80
ncat --sh-exec ./x host 80
ncat --lua-exec x.lua host 80
socat - EXEC:./x,pty
socat TCP-LISTEN:80 system:./x
lftp -e '!./x' host
nmap --script ./x host
tcpdump -z ./x -w a
aria2c --on-download-complete=./x https://a.example
mutt -e 'source x'
systemd-run ./x
systemd-run --user --on-active=5 ./x
systemd-nspawn -D d ./x
systemctl --user start x
supervisorctl start x
sv up x
nsenter -t 1 -m ./x
unshare -r ./x
chroot d ./x
firejail ./x
bwrap --bind / / ./x
machinectl shell host ./x
runc run x
criu restore -d
gdbserver :1 ./x
bpftrace -c ./x
openvpn --up ./x
wg-quick up x
modprobe x
ldconfig d
xdotool key Return
gsettings set a b c
npm --script-shell=./x test
npm test --script-sh ./x
npm run x --node-options=--require=./x.js
npm --userconfig=./x ls
npm config set script-shell ./x
npm i -g ./x
npm i https://a.example/x.tgz
pnpm add -g ./x
pip install git+https://a.example/x
pip install --index-url https://a.example x
pip config set global.index-url https://a.example
cargo install --git https://a.example/x
cargo add --git https://a.example/x x
gem install x --source https://a.example
dpkg -i x.deb
apt-get -o DPkg::Pre-Invoke=./x update
brew install ./x.rb
rustup self update
mise trust
code --install-extension ./x.vsix
code tunnel
docker run --privileged x ./x
docker run -v /:/host x ./x
docker run -v /var/run/docker.sock:/var/run/docker.sock x
docker -H tcp://host ps
docker build https://a.example/x.git
redis-server --loadmodule ./x.so
mysqld --plugin-load-add=x=./x.so
mysqld --init-file=./x.sql
postgres -c shared_preload_libraries=./x.so
helm template . --post-renderer ./x
helm install a . --post-renderer ./x
helm plugin install ./x
kubectl exec pod -- ./x
kubectl run a --image=b -- ./x
terraform apply
vagrant up
packer build x.json
ansible-playbook x.yml
salt '*' cmd.run ./x
puppet apply ./x
consul watch -type key ./x
lxc exec c ./x
mongosh x.js
aws ssm start-session x
gcloud compute ssh x
heroku run ./x
fly ssh console -C ./x
git remote add x 'ext::./x'
git push 'ext::./x' main
git filter-branch --tree-filter ./x
git send-email --sendmail-cmd=./x a
git daemon --access-hook=./x
git instaweb
git archive --remote=. --exec=./x HEAD
gpg --exec-path ./x -d a
ssh-keygen -D ./x.so
FOOD_CONFIG=./x food
foobar .git/hooks/pre-commit
"""
_CODE_THAT_RUNS = (
    "import os\nos.__getattribute__('sys' + 'tem')('x')",
    "import os\ngetattr(os, 'sys' + 'tem')(x)",
    "import os\n[os.system][0](x)",
    "import ctypes\nctypes.CDLL('x')",
    "().__class__.__base__.__subclasses__()",
    "import pip\npip.main(['install', 'x'])",
    "import pyautogui\npyautogui.write('x')",
)


@pytest.mark.parametrize(
    ("rate", "text"),
    [(_line, line) for line in _RUNNERS.strip().splitlines()] + [(_cell, code) for code in _CODE_THAT_RUNS],
)
def test_what_runs_a_program_unseen_asks_where_a_command_is_denied(rate, text):
    assessment, subject = rate(text)
    assert any(part.risk == "HIGH" and Trait.RUNS in part.traits for part in assessment.parts)
    deciding_rule = deciding([parse_rule("deny $ curl *")], subject)
    assert deciding_rule is not None
    assert deciding_rule.verdict == "ask"


@pytest.mark.parametrize(
    "line",
    [
        "ssh -o ProxyCommand='cu\"\"rl x' host",
        "ssh -oLocalCommand='cu\"\"rl x' host",
        "scp -S cu''rl a host:b",
        "rsync -e 'cu\"\"rl x' a host:b",
        "sftp -o 'ProxyCommand=cu\"\"rl x' host",
        "nc -e 'cu\"\"rl x' host 80",
        "socat - EXEC:'cu\"\"rl x',pty",
        "socat STDIO system:'cu\"\"rl x'",
        "systemd-run --user -p Nice=5 cu''rl x",
        "systemd-nspawn -D d cu''rl x",
        "nsenter -t 1 -m cu''rl x",
        "unshare -r cu''rl x",
        "chroot d cu''rl x",
        "torsocks cu''rl x",
        "ssh-agent cu''rl x",
        "firejail cu''rl x",
        "flatpak-spawn --host cu''rl x",
        "distrobox-enter -n a -- cu''rl x",
        "kubectl exec -it pod -- cu''rl x",
        "kubectl exec pod -- sh -c 'cu\"\"rl x'",
        "docker run --rm a sh -c 'cu\"\"rl x'",
        "docker run --rm --entrypoint=/bin/sh a -ec 'cu\"\"rl x'",
        "docker compose run --rm a bash -lc 'true; cu\"\"rl x'",
    ],
)
def test_command_that_another_program_runs_is_denied_like_one_of_the_line(line):
    deciding_rule = deciding([parse_rule("deny $ curl *")], _line(line)[1])
    assert deciding_rule is not None
    assert deciding_rule.verdict == "deny"


@pytest.mark.parametrize(
    "line",
    [
        "docker run --rm a sh -c 'make test'",
        "docker run --rm python:3 python -c 'print(1)'",
        "npm test -- --registry x -g",
        "npm run build --no-git-tag-version",
        "npm ls -g",
        "git commit -m 'ext:: x'",
        "nc -zv localhost 80",
        "redis-server --port 7777",
        "ssh -o ProxyCommand=none host ls",
        "kubectl delete pod x",
        "systemctl status x",
    ],
)
def test_what_runs_nothing_unseen_does_not_ask_for_a_denied_command(line):
    assert deciding([parse_rule("deny $ curl *")], _line(line)[1]) is None


def test_reason_keeps_its_traits_in_copies():
    reason = Reason("runs another program", Trait.RUNS)
    for copied in (copy(reason), deepcopy(reason), pickle.loads(pickle.dumps(reason))):
        assert (copied, copied.traits) == (reason, Trait.RUNS)


def test_ratings_are_recorded_with_plain_text():
    for assessment in (rate(text)[0] for rate, texts in ((_line, _lines()), (_cell, _codes())) for text in texts[::5]):
        shown = reasons(assessment, shows_diff=False)
        event = ActionAssessed(action_id="a", risk=assessment.risk, reasons=shown, segments=segments(assessment))
        assert event_from_json(encode(event)) == event


@pytest.mark.parametrize("text", ["runs another program", "runs \udce9"], ids=["plain", "not UTF-8"])
def test_reason_is_recorded_as_text_in_every_field_of_an_event(text):
    reason = Reason(text, Trait.RUNS)
    deleted = DeletionList(reason=reason, summary=reason, paths=())
    event = ActionAssessed(action_id="a", risk="HIGH", reasons=(reason,), deleted=(deleted,), no_always=reason)
    again = event_from_json(encode(event))
    assert again == event
    assert {type(again.reasons[0]), type(again.deleted[0].reason), type(again.no_always)} == {str}
    assert without_surrogates(event).reasons == (text.replace("\udce9", "\ufffd"),)


READERS = frozenset({"startswith", "endswith", "find", "index", "count", "replace", "removeprefix", "removesuffix"})
READERS |= {"split", "partition", "rpartition", "lower", "casefold", "strip"}
SEARCHES = frozenset({"match", "search", "fullmatch", "findall", "finditer", "sub", "intersection"})


def _is_reason(node: ast.AST) -> bool:
    return (isinstance(node, ast.Attribute) and node.attr in {"reason", "reasons"}) or (
        isinstance(node, ast.Name) and node.id == "reason"
    )


def _reads(node: ast.AST) -> bool:
    """Return whether a node of the syntax tree reads the text of a reason, or composes another one from it."""
    if isinstance(node, ast.Compare):
        return any(_is_reason(each) for each in (node.left, *node.comparators))
    if isinstance(node, ast.JoinedStr):
        return any(isinstance(each, ast.FormattedValue) and _is_reason(each.value) for each in node.values)
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
        return False
    is_searched = node.func.attr in SEARCHES and any(_is_reason(each) for each in node.args)
    return is_searched or (node.func.attr in READERS and _is_reason(node.func.value))


def _readings(module: Module) -> Iterator[str]:
    """Yield the places that read reasons, except texts for the user that `reworded` gives the same traits."""
    composed = {
        id(each)
        for node in module.nodes
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "reworded"
        for each in ast.walk(node)
    }
    for node in module.nodes:
        if _reads(node) and id(node) not in composed:
            yield f"{module.name}: {ast.unparse(node)}"


OTHER_USES = {
    "workbench.risk.actions: f'{reason}: {call}'": "names the call in the text for the user",
    "workbench.risk.tool_calls: f'the tool says: {effect.reason}'": "quotes a tool's own text, which has no traits",
    "workbench.session.actions.integrity: doubt not in assessed.reasons": (
        "asks whether the user has seen this doubt; a reworded one is asked about again"
    ),
    "workbench.session.actions.lifecycle: {why, FOR_GOOD}.intersection(action.assessed.reasons)": "asks the same",
    "workbench.session.actions.run: f\"{reason} Not put back: {', '.join(lost)}\"": "is the reason of an error",
    "workbench.session.storage.jsonl: f'event {number} of the import cannot be read: {reason}'": "is one of an error",
}
"""Uses of the text of reasons that decide nothing about a rating, and why."""


def test_no_module_that_decides_reads_the_text_of_reasons():
    deciding_modules = [
        module
        for module in modules().values()
        if module.name.startswith(("workbench.risk.", "workbench.rules."))
        or any(origin.startswith("workbench.risk") for _, origin, _ in imports(module))
    ]
    assert {place for module in deciding_modules for place in _readings(module)} == set(OTHER_USES)
