"""Verbs of git that are seldom used, and those whose words are folders; used by `git`."""

from __future__ import annotations

from workbench.risk.shell.call import Call, Spec, flags, uses
from workbench.risk.shell.tools.rule import flag_names, words

_SENDS = Spec("HIGH", "sends code out", operands="text")
_SERVES = Spec("HIGH", "serves the repository", operands="text")
_CREDENTIALS = Spec("HIGH", "hands out credentials", operands="text")
_LOSES = "loses work that is not committed"
_ASKS = Spec(
    "MEDIUM",
    "fetches from a configured remote",
    operands="text",
    flags=flags("HIGH", "runs another program", "--upload-pack --exec"),
)
_CHANGE = Spec("MEDIUM", "changes the repository", operands="text")
_STARTS = Spec("HIGH", "is started by itself later, and changes the settings of this person", operands="text")

MORE: dict[str, Spec] = {
    **dict.fromkeys(words("send-pack http-push imap-send cvsexportcommit p4 svn"), _SENDS),
    **dict.fromkeys(words("instaweb shell http-backend upload-archive receive-pack"), _SERVES),
    **dict.fromkeys(words("credential-store credential-cache credential-osxkeychain"), _CREDENTIALS),
    **dict.fromkeys(("remote prune", "remote update", "ls-remote"), _ASKS),
    **dict.fromkeys(("remote set-head", "remote set-branches"), _CHANGE),
    **dict.fromkeys(("maintenance start", "maintenance register", "lfs install"), _STARTS),
    **dict.fromkeys(("lfs ls-files", "lfs status", "lfs env", "lfs version"), Spec(operands="text")),
    "fsck": Spec(operands="text", flags=flags("MEDIUM", "writes what is lost", "--lost-found")),
    "checkout-index": Spec(
        "MEDIUM",
        "writes files of the repository",
        operands="text",
        flags=flags("HIGH", _LOSES, "-f --force"),
        paths=uses("write", "--prefix"),
    ),
    "read-tree": Spec("MEDIUM", "changes what is staged", operands="text", flags=flags("HIGH", _LOSES, "--reset")),
    "archive": Spec("MEDIUM", "packs files", operands="text", paths=uses("write", "-o --output")),
    "bundle create": Spec("MEDIUM", "packs the repository", operands="write", values=words("--since --until")),
    "format-patch": Spec(
        "MEDIUM", "writes patches", operands="text", paths=uses("write", "-o --output-directory --output")
    ),
    **dict.fromkeys(
        ("bugreport", "diagnose"),
        Spec("MEDIUM", "writes a report", operands="text", paths=uses("write", "-o --output-directory")),
    ),
    "commit": Spec(
        "MEDIUM",
        "changes the repository",
        operands="text",
        values=words("-m --message --author --date -C -c --fixup --squash --cleanup"),
        paths=uses("read", "-F --file -t --template --pathspec-from-file"),
    ),
    "apply": Spec(
        "MEDIUM",
        "changes files",
        operands="read",
        values=words("-p -C --whitespace --include --exclude"),
        paths=uses("write", "--directory"),
        flags=flags("HIGH", "changes files anywhere", "--unsafe-paths"),
    ),
    "mv": Spec("MEDIUM", "moves files", operands="write"),
    "init": Spec(
        "MEDIUM",
        "makes a repository",
        operands="write",
        values=words("-b --initial-branch --object-format --ref-format"),
        paths=uses("write", "--separate-git-dir") | uses("read", "--template"),
        keeps=True,
    ),
    "worktree add": Spec(
        "MEDIUM",
        "makes a work tree",
        operands="text",
        values=words("-b -B --reason"),
        flags=flags("HIGH", _LOSES, "-B"),
    ),
}
_CLONE = Spec(
    values=words("-b --branch -o --origin --depth -c --config -j --jobs --filter --shallow-since -u --upload-pack"),
    paths=uses("read", "--reference --template") | uses("write", "--separate-git-dir"),
)
_LISTS = words(
    "-l --list -a --all -r --remotes --show-current --contains --no-contains --merged --no-merged --points-at"
)


def beside(call: Call, verb: str) -> None:
    """What the rows of the tables do not say: `clone` and `worktree add` make a folder, `branch NAME` a branch."""
    words_before, call.words = call.words, call.words[1:]
    if verb == "clone":
        _makes_folder(call, _CLONE, 1)
    elif verb == "worktree" and call.words and call.words[0].text == "add":
        _makes_folder(call, MORE["worktree add"], 1)
    elif verb in {"add", "stage", "hash-object"}:
        _keeps_secret(call)
    elif verb in {"branch", "tag"}:
        options, operands = call.options(Spec(values=words("--sort --format --color")))
        names = flag_names(options)
        if (operands and names.isdisjoint(_LISTS)) or "--edit-description" in names:
            call.raise_to("MEDIUM", "changes branches" if verb == "branch" else "changes tags")
    call.words = words_before


def _keeps_secret(call: Call) -> None:
    """What is added stays in the repository, and goes where it goes."""
    for word in call.words:
        path = None if word.text.startswith("-") else call.scan.absolute(word)
        if path is not None and call.scan.rating(path, "read")[0] == "HIGH":
            call.raise_to("HIGH", "puts what holds secrets into the repository")


def _makes_folder(call: Call, spec: Spec, at: int) -> None:
    options, operands = call.options(spec)
    for option in options:
        if option.value is not None and option.flag in spec.paths:
            call.use(option.value, spec.paths[option.flag])
    for word in operands[at : at + 1]:
        call.use(word, "write")
