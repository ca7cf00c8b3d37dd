"""Lines made of the options in the tables of harmless ones are really run: a LOW line changes no file."""

import os
import random
import shlex
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from workbench.risk.commands import assess_command
from workbench.risk.paths import PathContext, words
from workbench.risk.programs.harmless import ROWS
from workbench.risk.shell.grammar import parsed_row

LINES = 350
NOT_RUN = words(
    # programs about the machine rather than files, or that wait for a terminal or for time to pass
    "systemctl dmesg journalctl docker podman nerdctl mount umount sysctl hostname date gdate tmux top nvidia-smi "
    "w who ifconfig route arp ss netstat brew snap flatpak conda mamba micromamba less more zless bat batcat zfs zpool "
    "tail vmstat iostat mpstat tty clear man info apt apt-cache dpkg dpkg-query pip pip3 uv npm go rpm gem lsof "
    "free yes sleep watch cd pushd popd exit return break continue shift logout read seq"
)
VALUES = (
    *("x", "a.txt", "1", "b.bin", "d.json", "out.txt", "sub/new", "%s", "2", "HEAD", "c", "s/a/b/", "{print $1}"),
    *(".a", "-1", "t.tar", "a.txt.gz", "sub", "."),
)
SET_UP = (
    "tar cf t.tar a.txt sub; gzip -k a.txt; git init -q . && git add . && "
    "git -c user.name=a -c user.email=a@b.c commit -qm x && git tag t1 && git branch b1"
)


def entries_below(directory: Path) -> dict[str, tuple[int, int, int] | None]:
    """Return mode, size and time of each file, and the directories; git may refresh its index whenever it looks."""
    paths = [path for path in directory.rglob("*") if not path.match(".git/index*")]
    states = {str(path): None if path.is_dir() else path.lstat() for path in paths}
    return {path: state and (state.st_mode, state.st_size, state.st_mtime_ns) for path, state in states.items()}


def candidates(chance: random.Random) -> Iterator[str]:
    """Yield lines of the programs that are installed, with options and operands at random."""
    programs = sorted(name for name in ROWS if name.split()[0] not in NOT_RUN and shutil.which(name.split()[0]))
    while True:
        name = chance.choice(programs)
        line = name.split()
        for flag, option in chance.choices(sorted(parsed_row(ROWS[name]).options.items()), k=chance.randint(0, 3)):
            line += [] if option.high or option.doubtful else [flag, *chance.choices(VALUES, k=len(option.kinds))]
        yield shlex.join([*line, *chance.choices(VALUES, k=chance.randint(0, 3))])


@pytest.mark.starts
def test_lines_that_are_low_change_no_file(tmp_path: Path):
    workspace, home = tmp_path / "workspace", tmp_path / "home"
    (workspace / "sub").mkdir(parents=True)
    home.mkdir()
    (workspace / "a.txt").write_text("one two 3\nthree\nfour 5\n" * 5)
    (workspace / "b.bin").write_bytes(bytes(range(256)))
    (workspace / "sub/c.txt").write_text("x\ny\n")
    (workspace / "d.json").write_text('{"a": [1, 2], "b": "x"}')
    env = {"PATH": os.environ["PATH"], "HOME": str(home), "LANG": "C", "TERM": "dumb", "PAGER": "cat"}
    env |= {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_PAGER": "cat"}
    subprocess.run(["bash", "-c", SET_UP], cwd=workspace, env=env, check=True, capture_output=True)
    before, places = entries_below(tmp_path), PathContext(str(workspace), str(home))
    count = 0
    for line in candidates(random.Random(20)):
        if assess_command(line, places).risk != "LOW":
            continue
        with_limit = ["bash", "-c", f"ulimit -f 2000; {line}"]
        subprocess.run(with_limit, cwd=workspace, env=env, stdin=subprocess.DEVNULL, capture_output=True, timeout=20)
        assert entries_below(tmp_path) == before, line
        count += 1
        if count == LINES:
            break
    assert count == LINES
