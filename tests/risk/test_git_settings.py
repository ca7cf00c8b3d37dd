"""Which changes of git settings are harmless: none that sends the commits of a branch or remote elsewhere."""

import pytest

from workbench.risk.git_settings import is_harmless

BEFORE = '[remote "origin"]\n\turl = https://example.org/x.git\n[branch "main"]\n\tremote = origin\n'
REDIRECTED = {
    "an existing remote": BEFORE.replace("example.org", "evil.example"),
    "an existing branch, to a URL": BEFORE.replace("= origin", "= https://evil.example/x"),
    "an existing branch, to a new remote": BEFORE.replace("= origin", "= evil")
    + '[remote "evil"]\n\turl = https://evil.example/x\n',
    "a new branch, to a URL": f'{BEFORE}[branch "topic"]\n\tremote = https://evil.example/x\n',
    "a new branch, to a directory": f'{BEFORE}[branch "topic"]\n\tremote = ../evil\n',
    "all pushes": f"{BEFORE}[remote]\n\tpushDefault = evil\n",
    "the pushes of a branch": BEFORE + "\tpushRemote = https://evil.example/x\n",
    "a second address for pushes": f'{BEFORE}[remote "origin"]\n\tpushurl = https://evil.example/x\n',
    "every address": f'{BEFORE}[url "https://evil.example/"]\n\tinsteadOf = https://example.org/\n',
}
HARMLESS = {
    "a new remote": f'{BEFORE}[remote "fork"]\n\turl = https://example.org/y.git\n',
    "a new branch that follows a remote": f'{BEFORE}[branch "topic"]\n\tremote = origin\n\tmerge = refs/heads/topic\n',
    "a new branch that follows another one": f'{BEFORE}[branch "topic"]\n\tremote = .\n\tmerge = refs/heads/main\n',
    "a removed branch": BEFORE.partition("[branch")[0],
}


@pytest.mark.parametrize("after", REDIRECTED.values(), ids=REDIRECTED)
def test_commits_are_not_sent_elsewhere_unnoticed(after):
    assert not is_harmless(BEFORE.encode(), after.encode())


@pytest.mark.parametrize("after", HARMLESS.values(), ids=HARMLESS)
def test_everyday_settings_are_harmless(after):
    assert is_harmless(BEFORE.encode(), after.encode())
