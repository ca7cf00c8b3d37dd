"""The programs of the hosts of repositories (gh, glab, hub), and keepers of versions other than git."""

from __future__ import annotations

from workbench.risk.shell.call import Call, Spec, flags, uses
from workbench.risk.shell.tools.rule import Rule, flag_names, subcommands, words

_FILES = uses("read", "-F --body-file --notes-file --input")
_ASKS = Spec("MEDIUM", "asks the host of the repository", operands="text", values=words("-R --repo"))
_SHOWS = Spec(
    "MEDIUM",
    "says something on the host of the repository",
    operands="text",
    paths=_FILES,
    values=words("-R --repo -t --title -b --body -B --base -H --head -l --label -a --assignee -r --reviewer -m"),
)
_FOR_GOOD = Spec("HIGH", "changes something on the host for good", operands="text", paths=_FILES)
_DOWNLOADS = Spec(
    "MEDIUM",
    "downloads from the host of the repository",
    operands="text",
    paths=uses("write", "-D --dir -O --output"),
    values=words("-R --repo -p --pattern -n --name -A --archive"),
)
_SAYS = "create comment edit close reopen ready review lock unlock pin unpin develop"
_table: dict[str, Spec] = {
    "auth token": Spec("HIGH", "prints a token", operands="text"),
    "auth status": Spec(
        "MEDIUM", "asks the host", operands="text", flags=flags("HIGH", "prints a token", "-t --show-token")
    ),
    **dict.fromkeys(words("auth secret ssh-key gpg-key alias extension codespace variable config"), _FOR_GOOD),
    **dict.fromkeys(
        words(
            "secret list|variable list|variable get|ssh-key list|gpg-key list|alias list|extension list|"
            "extension search|codespace list|config get|config list|repo view|repo list|repo deploy-key list",
            "|",
        ),
        _ASKS,
    ),
    **{f"{kind} {verb}": _SHOWS for kind in ("pr", "issue", "mr") for verb in _SAYS.split()},
    **dict.fromkeys(words("label create|label edit|run rerun|run cancel|pr update-branch", "|"), _SHOWS),
    **dict.fromkeys(
        words(
            "pr merge|mr merge|pr lock|issue delete|issue transfer|repo create|repo delete|repo edit|repo archive|"
            "repo unarchive|repo rename|repo fork|repo sync|repo deploy-key|release create|release upload|release edit|"
            "release delete|release delete-asset|gist create|gist edit|gist delete|gist rename|run delete|cache delete|"
            "workflow run|workflow enable|workflow disable|label delete|label clone|project|ci run|ci trigger",
            "|",
        ),
        _FOR_GOOD,
    ),
    **dict.fromkeys(("project list", "project view", "project item-list", "project field-list"), _ASKS),
    **dict.fromkeys(("release download", "run download", "repo clone", "gist clone"), _DOWNLOADS),
}
_by_verb = subcommands(_table, _ASKS, "-R --repo")
_API = Spec(
    values=words(
        "-H --header -q --jq -t --template --hostname --cache -p --preview -X --method -f -F --field --raw-field"
    ),
    paths=uses("read", "--input"),
)


def _host(call: Call) -> None:
    if [word.text for word in call.words[:1]] == ["api"]:
        call.words = call.words[1:]
        _api(call)
    elif [word.text for word in call.words[:2]] in (["repo", "clone"], ["gist", "clone"]):
        for word in call.words[3:4]:
            call.use(word, "write")
        _by_verb(call)
    elif [word.text for word in call.words[:2]] == ["pr", "review"] and {"-a", "--approve"} & {
        word.text for word in call.words
    }:
        call.raise_to("HIGH", "says yes to a change in the name of the person")
    else:
        _by_verb(call)


def _api(call: Call) -> None:
    """A GET asks; fields make it a POST."""
    options, _ = call.options(_API)
    call.raise_to("MEDIUM", "asks the host of the repository")
    method = next((option.value.text for option in options if option.flag in {"-X", "--method"} and option.value), "")
    sends = flag_names(options) & {"-f", "-F", "--field", "--raw-field", "--input"}
    if (method.upper() or ("POST" if sends else "GET")) not in {"GET", "HEAD"}:
        call.raise_to("HIGH", "changes something on the host for good")
    for option in options:
        if option.value and option.flag == "--input":
            call.use(option.value, "read")
        if option.value and option.flag in {"-F", "--field"} and "=@" in option.value.text:
            call.use(option.value._replace(text=option.value.text.partition("=@")[2]), "read")


_LOSES = Spec("HIGH", "loses work that is not committed", operands="text")
_OTHER_VCS = subcommands(
    {
        **dict.fromkeys(words("status st diff log annotate blame cat heads id identify branches tags files"), Spec()),
        **dict.fromkeys(words("revert purge strip rollback histedit"), _LOSES),
        **dict.fromkeys(
            ("update", "up", "co", "checkout"),
            Spec(
                "MEDIUM",
                "changes what is checked out",
                operands="text",
                flags=flags("HIGH", "loses work", "-C --clean"),
            ),
        ),
    },
    Spec("MEDIUM", "changes the repository, or asks its server", operands="text"),
    "-R --repository --cwd --config",
)


def _other_vcs(call: Call) -> None:
    """A setting in its words may be an alias, a hook or an extension, which run what they name."""
    if any(word.text.startswith("--conf") for word in call.words):
        call.raise_to("HIGH", f"changes what {call.name} runs")
    _OTHER_VCS(call)


RULES: dict[str, Rule] = {
    **dict.fromkeys(("gh", "glab", "hub"), _host),
    **dict.fromkeys(("hg", "svn"), _other_vcs),
}
