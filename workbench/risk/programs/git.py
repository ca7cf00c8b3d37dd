"""Rules for git, with a table row or a function for each verb."""

from __future__ import annotations

import os
import re

from workbench.files import recorded_stat
from workbench.lazy_pattern import lazy_pattern
from workbench.risk.git_programs import programs_named
from workbench.risk.paths import within
from workbench.risk.programs.destructive_verbs import destroys
from workbench.risk.programs.git_deletions import clean, remove
from workbench.risk.programs.rule import Rule, flag_names, subcommands, words
from workbench.risk.reason import FOR_GIT, RUNS_PROGRAM, Reason, Trait
from workbench.risk.shell.call import Call, ParsedOption, Spec, flags, uses
from workbench.risk.shell.written_files import note_fetched
from workbench.risk.word import UNKNOWN, Word, literal

_SENDS = Spec("HIGH", "sends code out", operands="text")
_SERVES = Spec("HIGH", "serves the repository", operands="text")
_CREDENTIALS = Spec("HIGH", "exposes credentials", operands="text")
_LOSES_WORK = "loses work that is not committed"
_ASKS = Spec(
    "MEDIUM",
    "fetches from a configured remote",
    operands="text",
    flags=flags("HIGH", RUNS_PROGRAM, "--upload-pack --exec"),
)
_CHANGES_REPOSITORY = Spec("MEDIUM", "changes the repository", operands="text")
_STARTS = Spec("HIGH", Reason("runs automatically later, and changes the user's settings", Trait.RUNS), operands="text")

MORE: dict[str, Spec] = {
    **dict.fromkeys(words("send-pack http-push imap-send cvsexportcommit p4 svn"), _SENDS),
    **dict.fromkeys(words("instaweb shell http-backend upload-archive receive-pack"), _SERVES),
    **dict.fromkeys(words("credential-store credential-cache credential-osxkeychain"), _CREDENTIALS),
    **dict.fromkeys(("remote prune", "remote update", "ls-remote"), _ASKS),
    **dict.fromkeys(("remote set-head", "remote set-branches"), _CHANGES_REPOSITORY),
    **dict.fromkeys(("maintenance start", "maintenance register", "lfs install"), _STARTS),
    **dict.fromkeys(("lfs ls-files", "lfs status", "lfs env", "lfs version"), Spec(operands="text")),
    "fsck": Spec(operands="text", flags=flags("MEDIUM", "writes what is lost", "--lost-found")),
    "checkout-index": Spec(
        "MEDIUM",
        "writes files of the repository",
        operands="text",
        flags=flags("HIGH", _LOSES_WORK, "-f --force"),
        paths=uses("write", "--prefix"),
    ),
    "read-tree": Spec("MEDIUM", "changes what is staged", operands="text", flags=flags("HIGH", _LOSES_WORK, "--reset")),
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
        "creates a repository",
        operands="write",
        values=words("-b --initial-branch --object-format --ref-format"),
        paths=uses("write", "--separate-git-dir") | uses("read", "--template"),
        keeps=True,
    ),
    "worktree add": Spec(
        "MEDIUM",
        "creates a work tree",
        operands="text",
        values=words("-b -B --reason"),
        flags=flags("HIGH", _LOSES_WORK, "-B"),
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
    """Rate effects that no table covers: `clone` and `worktree add` create a directory, `branch NAME` a branch."""
    words_before, call.words = call.words, call.words[1:]
    if verb == "clone":
        _makes_directory(call, _CLONE, 1)
        note_fetched(call, call.options(_CLONE)[1])
    elif verb == "worktree" and call.words and call.words[0].text == "add":
        _makes_directory(call, MORE["worktree add"], 1)
    elif verb in {"add", "stage", "hash-object"}:
        _keeps_secret(call)
    elif verb in {"branch", "tag"}:
        options, operands = call.options(Spec(values=words("--sort --format --color")))
        names = flag_names(options)
        if (operands and names.isdisjoint(_LISTS)) or "--edit-description" in names:
            call.raise_to("MEDIUM", "changes branches" if verb == "branch" else "changes tags")
    call.words = words_before


def _keeps_secret(call: Call) -> None:
    """Rate adding secrets as HIGH, because they stay in the repository and are copied with it."""
    for word in call.words:
        path = None if word.text.startswith("-") else call.scan.absolute(word)
        if path is not None and call.scan.rating(path, "read")[0] == "HIGH":
            call.raise_to("HIGH", "adds a file that may contain secrets to the repository")


def _makes_directory(call: Call, spec: Spec, at: int) -> None:
    options, operands = call.options(spec)
    for option in options:
        if option.value is not None and option.flag in spec.paths:
            call.use(option.value, spec.paths[option.flag])
    for word in operands[at : at + 1]:
        call.use(word, "write")


_OUT = uses("write", "--output --output-directory")
_EXTERNAL = flags(
    "HIGH", RUNS_PROGRAM, "--ext-diff --textconv --open-files-in-pager -O --upload-pack --receive-pack --exec"
)
_LOSES = "loses work that is not committed"
_READS = Spec(operands="text", flags=_EXTERNAL, paths=_OUT)
_CHANGE = Spec(
    "MEDIUM",
    "changes the repository",
    operands="text",
    flags=flags("HIGH", RUNS_PROGRAM, "--exec") | flags("HIGH", "changes files anywhere", "--unsafe-paths"),
)
_NETWORK = Spec("MEDIUM", "fetches from a configured remote", operands="text", flags=_EXTERNAL)
_HIGH_CONFIG = Spec("HIGH", FOR_GIT, operands="text")
_REMOTE = lazy_pattern(r"(?:[a-z+-]+://|git@|[\w.-]+@[\w.-]+:|/|\.\.?/|~|ext::)")

_TABLE: dict[str, Spec] = {
    **dict.fromkeys(
        words(
            "status log show diff blame shortlog describe rev-parse rev-list ls-files ls-tree cat-file "
            "diff-tree diff-index "
            "diff-files merge-base name-rev for-each-ref show-ref show-branch whatchanged "
            "count-objects version help grep "
            "check-ignore check-attr var cherry range-diff annotate verify-commit verify-tag fsck "
            "range-diff ls-remote "
            "symbolic-ref"
        ),
        _READS,
    ),
    **dict.fromkeys(
        words(
            "add commit merge cherry-pick revert mv init am apply notes sparse-checkout "
            "commit-tree write-tree bisect "
            "maintenance pack-refs repack format-patch archive bundle update-index read-tree rerere replace"
        ),
        _CHANGE,
    ),
    **dict.fromkeys(("fetch", "pull", "lfs"), _NETWORK),
    "clone": Spec("MEDIUM", "downloads a repository", operands="text", flags=_EXTERNAL),
    "rebase": Spec("MEDIUM", "rewrites commits", operands="text", flags=flags("HIGH", RUNS_PROGRAM, "-x --exec")),
    "gc": Spec(
        "MEDIUM", "tidies the repository", operands="text", flags=flags("HIGH", "deletes lost commits", "--prune")
    ),
    "prune": Spec("HIGH", "deletes lost commits", operands="text"),
    "reflog": _READS,
    "reflog expire": Spec("HIGH", "deletes what could restore lost commits", operands="text"),
    "reflog drop": Spec("HIGH", "deletes what could restore lost commits", operands="text"),
    "reflog delete": Spec("HIGH", "deletes what could restore lost commits", operands="text"),
    "stash": Spec("MEDIUM", "puts changes aside", operands="text"),
    "stash list": _READS,
    "stash show": _READS,
    "stash drop": Spec("HIGH", _LOSES, operands="text"),
    "stash clear": Spec("HIGH", _LOSES, operands="text"),
    "branch": Spec(
        "LOW",
        operands="text",
        flags=flags("HIGH", "deletes a branch that may not be merged", "-D -f --force")
        | flags(
            "MEDIUM", "changes branches", "-d -m -M -c -C --delete --move --copy -u --set-upstream-to --unset-upstream"
        ),
    ),
    "tag": Spec("LOW", operands="text", flags=flags("MEDIUM", "changes tags", "-d --delete -f --force -a -s -m -F")),
    "reset": Spec(
        "MEDIUM", "changes what is staged", operands="text", flags=flags("HIGH", _LOSES, "--hard --merge --keep")
    ),
    "remote": _READS,
    "remote show": _READS,
    "remote get-url": _READS,
    **dict.fromkeys(
        ("remote add", "remote set-url", "remote rename", "remote remove", "remote rm"),
        Spec("HIGH", "changes where code comes from and goes to", operands="text"),
    ),
    "worktree": Spec("MEDIUM", "changes work trees", operands="text"),
    "worktree list": _READS,
    "worktree remove": Spec(
        "MEDIUM", "removes a work tree", operands="text", flags=flags("HIGH", _LOSES, "-f --force")
    ),
    "submodule": Spec("MEDIUM", "changes submodules", operands="text"),
    "submodule status": _READS,
    "submodule foreach": Spec("HIGH", Reason("runs a command in each submodule", Trait.RUNS), operands="text"),
    "for-each-repo": Spec("HIGH", Reason("runs a command in each repository", Trait.RUNS), operands="text"),
    "filter-branch": Spec("HIGH", Reason("rewrites all commits", Trait.RUNS), operands="text"),
    "filter-repo": Spec("HIGH", Reason("rewrites all commits", Trait.RUNS), operands="text"),
    "update-ref": Spec("HIGH", "moves a branch without a check", operands="text"),
    "difftool": Spec("HIGH", RUNS_PROGRAM, operands="text"),
    "mergetool": Spec("HIGH", RUNS_PROGRAM, operands="text"),
    "send-email": Spec("HIGH", Reason("sends code out", Trait.RUNS), operands="text"),
    "daemon": Spec("HIGH", Reason("serves the repository", Trait.RUNS), operands="text"),
    "credential": Spec("HIGH", Reason("exposes credentials", Trait.RUNS), operands="text"),
    "switch": Spec(
        "MEDIUM", "changes the branch", operands="text", flags=flags("HIGH", _LOSES, "-f --force --discard-changes -C")
    ),
}
_CHECKS_OUT = words(
    "checkout switch restore reset merge rebase pull cherry-pick revert am apply stash read-tree checkout-index bisect "
    "sparse-checkout submodule"
)
"""Verbs that overwrite or delete files of the work tree."""
_SHOWS = words("log show diff blame annotate cat-file whatchanged grep difftool")
_by_verb = subcommands(
    _TABLE | MORE, Spec("MEDIUM", Reason("unknown git command", Trait.UNCERTAIN | Trait.UNRECOGNIZED), operands="text")
)
_RECOGNIZED = frozenset(name.partition(" ")[0] for name in _TABLE | MORE)
_BEFORE = Spec(
    values=words("-C -c --git-dir --work-tree --namespace --config-env --exec-path --super-prefix"),
    flags=flags("HIGH", Reason("changes what git runs", Trait.RUNS), "-c --config-env"),
)
_FINE_SETTINGS = lazy_pattern(
    r"(?:user\.(?:name|email)|color\.\w+|core\.(?:quotepath|pager)=(?:cat)?|core\.quotepath|advice\.\w+|"
    r"commit\.gpgsign|init\.defaultbranch|diff\.\w+renames?|log\.(?!showsignature)\w+|"
    r"pull\.\w+|safe\.directory)(?:=.*)?\Z",
    re.I,
)


def _git(call: Call) -> None:
    call.base = None  # a call may be rated twice
    while call.words and call.words[0].text.startswith("-"):
        _before(call)
    if not call.words:
        return
    _rate_remote_commands(call)
    verb = call.words[0].text
    if verb not in _WITHOUT and is_other_repository(call):
        call.raise_to("MEDIUM", OTHER_REPOSITORY)
    if verb in _CHECKS_OUT and " ".join(word.text for word in call.words[:2]) not in {"stash list", "stash show"}:
        _checks_out(call, verb)
    if any(word.runs for word in call.words) and verb in {"push", "fetch", "clone", "pull", "remote"}:
        call.raise_to("HIGH", "sends what another command printed")
    special = _SPECIAL.get(verb)
    if special:
        call.words = call.words[1:]
        special(call)
        return
    _from_remote(call, verb)
    _displayed(call, verb)
    _checks_signatures(call, verb)
    beside(call, verb)
    call.opaque = "" if verb in _RECOGNIZED else "git"  # an unknown verb may be an alias
    if inner := destroys(call.words[1:]) if call.opaque else "":
        call.raise_to("HIGH", Reason(f"unknown git command, run with {inner.lstrip('-')[:20]}", Trait.UNCERTAIN))
    _by_verb(call)


_COMMAND_AS_URL = lazy_pattern(r"(?:--?[\w-]+=)?ext::\S")
"""Matches the URL of a remote that is a command, which git runs to reach it."""


def _rate_remote_commands(call: Call) -> None:
    if any(_COMMAND_AS_URL.match(word.text) for word in call.words):
        call.raise_to("HIGH", RUNS_PROGRAM)


def rate_repository(call: Call, original: list[Word]) -> None:
    """Rate a read-only command by what the repository around it makes git run."""
    if call.risk != "LOW":
        return
    names = frozenset(word.text.casefold() for word in original if not word.text.startswith("-"))
    if names <= _WITHOUT:
        return
    context = call.scan.context
    top = context.resolved(context.workspace)
    programs = context.once("git", lambda: programs_named(top, context.workspace, context.home))
    if programs.reason:
        call.raise_to("MEDIUM", programs.reason)
    elif not names.isdisjoint(programs.aliases):
        call.raise_to("MEDIUM", "the repository gives this name to another command")


OTHER_REPOSITORY = "works on another repository, whose settings may run programs"
_WITHOUT = words("version check-ref-format")
"""Verbs that use neither a repository nor its settings."""


def is_other_repository(call: Call, marker: str = ".git") -> bool:
    """Return whether git may use a repository other than the workspace's: a nested one, or one outside.

    `marker` is the directory at the top of a repository, for programs other than git.
    """
    base = call.base if call.base is not None else literal(".")
    path = call.scan.absolute(base)
    workspace, context = call.scan.context.workspace, call.scan.context
    if path is None:
        return True
    directory, top = context.resolved(os.path.normpath(path)), context.resolved(workspace)
    return context.once(f"repository\0{marker}\0{directory}", lambda: _is_nested(directory, top, marker))


def _is_nested(directory: str, top: str, marker: str) -> bool:
    """Return whether a real directory belongs to a repository other than the one at `top`."""
    while directory != top and within(directory, top):
        if not recorded_stat.is_directory(directory) or _is_top(directory, marker):
            return True
        directory = os.path.dirname(directory)  # noqa: PTH120 - a string comes in
    is_bare = marker == ".git" and recorded_stat.exists(f"{top}/HEAD") and not recorded_stat.exists(f"{top}/.git")
    return directory != top or is_bare


def _is_top(directory: str, marker: str) -> bool:
    """Return whether the directory is the root of a repository; for git, that may be a bare one, with a `HEAD`."""
    is_bare = marker == ".git" and recorded_stat.exists(f"{directory}/HEAD")
    return is_bare or recorded_stat.exists(f"{directory}/{marker}")


def _checks_out(call: Call, verb: str) -> None:
    """Record that the verb may overwrite any uncommitted file; its risk is rated elsewhere."""
    options = {word.text for word in call.words}
    is_index_only = (verb == "reset" and not options & {"--hard", "--merge", "--keep"}) or (
        verb == "restore" and options & {"--staged", "-S"} and not options & {"--worktree", "-W"}
    )
    if not is_index_only:
        call.spares = "" if verb == "stash" and options & {"-a", "--all"} else "m"
        call.writes_anywhere()


_CHECKS_SIGNATURES = lazy_pattern(r"%[-+ ]?G[?GKSFPT]|%\(\*?signature")


def _checks_signatures(call: Call, verb: str) -> None:
    """Rate showing signatures: to check them, git runs the program that its settings name."""
    if verb in {"verify-commit", "verify-tag"} or any(
        "%" in word.text and _CHECKS_SIGNATURES.search(word.text) for word in call.words
    ):
        call.raise_to("MEDIUM", "runs the program that checks signatures")


def _displayed(call: Call, verb: str) -> None:
    """Rate the paths that the verb shows: those after `--`, and any other that is HIGH to read.

    The path in `REV:PATH` is always recorded. A `symbolic-ref` that sets a branch is at least MEDIUM.
    """
    if verb == "symbolic-ref" and sum(not word.text.startswith("-") for word in call.words) > 2:
        call.raise_to("MEDIUM", "changes the branch")
    if verb not in _SHOWS:
        return
    behind = False
    for word in call.words[1:]:
        behind |= word.text == "--"
        if word.text.startswith("-"):
            continue
        path = word._replace(text=word.text.rpartition(":")[2])
        full = call.scan.absolute(path)
        if ":" in word.text and full is not None:
            # `REV:PATH` starts at the top of the repository, `REV:./PATH` at the working directory
            call.paths += [full, f"{call.scan.context.workspace}/{path.text}"]
        if full is not None and (behind or call.scan.rating(full, "read")[0] == "HIGH"):
            call.use(path, "read")


def _before(call: Call) -> None:
    """Rate an option before the verb, and remove it with its value."""
    flag = call.words.pop(0).text
    name, equals, value = flag.partition("=")
    if len(name) > 2 and name.startswith(("-c", "-C")):
        call.raise_to("HIGH", Reason("changes what git runs", Trait.RUNS))
    if name in _BEFORE.values and not equals:
        value = call.words.pop(0).text if call.words else ""
    if (name == "-c" and not _FINE_SETTINGS.match(value)) or (name in {"--config-env", "--exec-path"} and value):
        call.raise_to("HIGH", Reason("changes what git runs", Trait.RUNS))
    elif name in {"-C", "--git-dir", "--work-tree"}:
        if name == "-C":
            value = f"{call.base.text}/{value}" if call.base and not value.startswith(("/", "~")) else value
            call.base = literal(value)
        else:
            call.raise_to("MEDIUM", OTHER_REPOSITORY)
        call.use(Word(value, value), "read")
        if call.scan.rating(call.scan.absolute(literal(value)) or "/", "read")[0] != "LOW" or _is_far(call, value):
            call.raise_to("HIGH", "works on a repository outside the workspace")


def _is_far(call: Call, directory: str) -> bool:
    """Return whether the directory is known to be outside the workspace."""
    path = call.scan.absolute(literal(directory))
    return path is not None and not within(call.scan.context.resolved(path), call.scan.context.workspace)


def _from_remote(call: Call, verb: str) -> None:
    if verb == "remote" and [word.text for word in call.words[1:2]] == ["show"]:
        call.raise_to("MEDIUM", "asks another machine")
        if any(_REMOTE.match(word.text) or "::" in word.text for word in call.words[2:]):
            call.raise_to("HIGH", "contacts a remote that is not configured")
    if verb not in {"fetch", "pull", "clone", "ls-remote"}:
        return
    operands = [word for word in call.words[1:] if not word.text.startswith("-")]
    for word in operands:
        if _REMOTE.match(word.text) and call.words[0].text == "pull":
            call.raise_to("HIGH", "takes code from a remote that is not configured")


def _push(call: Call) -> None:
    options, operands = call.options(Spec(values=words("-o --push-option"), flags=_EXTERNAL))
    names = flag_names(options)
    call.raise_to("MEDIUM", "sends commits to a configured remote")
    if names & {"-f", "--force", "--mirror", "--prune", "-d", "--delete"} or any("--force" in flag for flag in names):
        call.raise_to("HIGH", "overwrites or deletes on the remote")
    if any(word.text.startswith((":", "+")) for word in operands[1:]):
        call.raise_to("HIGH", "overwrites or deletes on the remote")
    if names & {"--receive-pack", "--exec"}:
        call.raise_to("HIGH", RUNS_PROGRAM)
    if operands and (_REMOTE.match(operands[0].text) or UNKNOWN in operands[0].text):
        call.raise_to("HIGH", "sends code to a remote that is not configured")


def _checkout(call: Call) -> None:
    names = flag_names(call.options(Spec(values=words("-b -B")))[0])
    call.raise_to("MEDIUM", "changes the branch")
    strings = [word.text for word in call.words]
    makes = bool(names & {"-b", "--orphan"})
    if "--" in strings or names & {"-f", "--force", "-B"} or (not makes and {".", "*", ":/"} & set(strings)):
        call.raise_to("HIGH", _LOSES)
    if not makes and any("/" in text and "." in text.rsplit("/", 1)[-1] for text in strings):
        call.raise_to("HIGH", _LOSES)


def _restore(call: Call) -> None:
    names = flag_names(call.options(Spec(values=words("-s --source")))[0])
    only_staged = names & {"--staged", "-S"} and not names & {"--worktree", "-W"}
    call.raise_to(*(("MEDIUM", "changes what is staged") if only_staged else ("HIGH", _LOSES)))


def _config(call: Call) -> None:
    options, operands = call.options(Spec(paths=uses("write", "-f --file"), values=words("--type --default")))
    names = flag_names(options)
    reads = names & {"-l", "--list", "--get", "--get-all", "--get-regexp", "--get-urlmatch"}
    verb = operands[0].text if operands else ""
    if verb in {"list", "get"} or reads or (len(operands) == 1 and not _changes(options)):
        if any(_SECRET_SETTING.search(word.text) for word in operands):
            call.raise_to("HIGH", "prints a secret")
        return
    local = not names & {"--global", "--system"}
    fine = local and operands and _FINE_SETTINGS.match(operands[0].text) and verb.startswith("user.")
    call.raise_to(*(("MEDIUM", "sets a name for commits") if fine else ("HIGH", _HIGH_CONFIG.reason)))
    if not fine:
        call.guard(f"{call.scan.context.workspace}/.git/config" if local else f"{call.scan.context.home}/.gitconfig")


_SECRET_SETTING = lazy_pattern(r"extraheader|token|passw|secret|credential\..*\.helper|insteadof|cookie", re.I)


def _changes(options: list[ParsedOption]) -> bool:
    return bool(
        flag_names(options) & {"--unset", "--unset-all", "--add", "--replace-all", "-e", "--edit", "--remove-section"}
    )


def _bisect(call: Call) -> None:
    call.raise_to("MEDIUM", "changes what is checked out")
    if call.words and call.words[0].text == "run":
        call.run_words(call.words[1:])


_SPECIAL = {
    "push": _push,
    "checkout": _checkout,
    "restore": _restore,
    "clean": clean,
    "rm": remove,
    "config": _config,
    "bisect": _bisect,
}

RULES: dict[str, Rule] = {"git": _git}
