"""Scans for protected files that use the paths of the scan before find what a search from the beginning finds."""

import os
import subprocess
import time

import pytest

from tests.session.test_integrity_guard import home, made_repo, repo  # noqa: F401
from tests.session.test_integrity_reach import SCRIPTED
from workbench.risk.protected_files import ProtectedFiles

OTHER = {
    "a directory of hooks": "git config core.hooksPath my-hooks; mkdir my-hooks; echo x > my-hooks/pre-commit",
    "a new hook there": "mkdir -p my-hooks; echo x > my-hooks/pre-push",
    "the user's included settings": "printf '[include]\\n\\tpath = ~/more.cfg\\n' >> ~/.gitconfig; echo > ~/more.cfg",
    "a link for a file of the home directory": "echo > plain; ln -s $PWD/plain ~/.zshrc",
    "a link in place of a directory": "mkdir -p ~/.emacs.d; touch ~/.emacs.d/init.el",
    "a link in place of it": "mv ~/.emacs.d ~/emacs; ln -s emacs ~/.emacs.d",
    "a link to another directory": "mkdir ~/emacs2; touch ~/emacs2/init.el; ln -sfn emacs2 ~/.emacs.d",
    "a broken link": "ln -sfn nowhere ~/.emacs.d",
    "the target of a broken link": "mkdir ~/nowhere; touch ~/nowhere/init.el",
    "a repository around the workspace": "git init -q ..",
    "a program in place of another": "mkdir -p ~/.local/bin; touch ~/.local/bin/git",
    "deleted again": "rm -rf ~/.vim ~/.config ~/.local ~/.emacs.d my-hooks .vscode",
}


def found(protected):
    baseline = protected.scan()
    return baseline.files.keys(), baseline.scopes.keys(), baseline.directories, baseline.symlinks


def test_each_change_is_found_as_by_a_first_search(repo, home):  # noqa: F811
    def scanner():
        return ProtectedFiles(str(repo), str(home), programs=[f"{home}/.local/bin"])

    protected = scanner()
    found(protected)
    for way, command in {**SCRIPTED, **OTHER}.items():
        subprocess.run(["bash", "-c", command], cwd=repo, capture_output=True)
        again, first = found(protected), found(scanner())
        assert again[0] == first[0], way
        assert again[3] == first[3], way
        assert again[0] <= again[1], way
        assert again[2].items() >= first[2].items(), way
        assert found(protected) == again, way


def test_scan_without_changes_looks_once_at_what_exists(repo, home, monkeypatch):  # noqa: F811
    protected = ProtectedFiles(str(repo), str(home))
    for _ in range(2):
        baseline = protected.scan()
    later = time.time_ns() + 120_000_000_000
    monkeypatch.setattr("workbench.files.stat_keys.time.time_ns", lambda: later)
    for _ in range(2):
        protected.scan()
    existing = [*baseline.files, *filter(os.path.isdir, baseline.directories)]
    looks = []

    def counted(call):
        return lambda *args, **more: looks.append(args) or call(*args, **more)

    for name in ("stat", "lstat"):
        monkeypatch.setattr(os, name, counted(getattr(os, name)))
    protected.scan()
    assert len(looks) < 2 * len(existing)


@pytest.mark.parametrize("link", [True, False])
def test_absent_directory_is_searched_once_it_exists(repo, home, link):  # noqa: F811
    protected = ProtectedFiles(str(repo), str(home))
    protected.scan()
    if link:
        (home / "elsewhere").mkdir()
        (home / ".vim").symlink_to("elsewhere")
    else:
        (home / ".vim").mkdir()
    (home / ".vim/vimrc").write_text("evil")
    assert f"{home}/.vim/vimrc" in protected.scan().files
