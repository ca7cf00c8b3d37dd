"""Rules for programs that connect to other machines or open ports."""

from __future__ import annotations

import re

from workbench.lazy_pattern import lazy_pattern
from workbench.risk.actions import METADATA
from workbench.risk.hg_settings import program_named
from workbench.risk.programs.git import OTHER_REPOSITORY, is_other_repository
from workbench.risk.programs.rule import Rule, flag_names, subcommands, words
from workbench.risk.reason import READS_OPTIONS, RUNS_PROGRAM, Reason, Trait
from workbench.risk.shell.call import Call, ParsedOption, Spec, flags, uses
from workbench.risk.word import UNKNOWN, Word, literal

_SENDS = "sends data to another machine"
_LOCAL = lazy_pattern(r"(?:https?://)?(?:localhost|127(?:\.\d+){1,3}|\[::1\]|0\.0\.0\.0)(?::\d+)?(?:[/?#]|\Z)", re.I)
_CURL = Spec(
    operands="text",
    values=words(
        "-H -X -A -e -m -w -b -x -r -y -Y -z -C --header --request --user-agent --referer "
        "--max-time --write-out --retry "
        "--connect-timeout --range --url --proto --tlsv1 --resolve --retry-delay --limit-rate --max-redirs --ciphers "
        "--cookie --url-query --variable --proxy-header --connect-to --mail-from --mail-rcpt --engine --aws-sigv4 "
        "--proto-default --socks5-hostname --socks4 --socks4a --interface --dns-servers --form-escape"
    ),
    paths=uses(
        "write",
        "-o -D -c --output --dump-header --cookie-jar --output-dir --trace --trace-ascii --stderr --libcurl "
        "--etag-save --hsts --alt-svc",
    )
    | uses("read", "-E --cert --key --cacert --netrc-file --etag-compare")
    | uses(
        "text",
        "-d -F -T -u -U --data --data-raw --data-binary --data-ascii --data-urlencode --json --form "
        "--form-string --upload-file --user --proxy-user -K --config --variable --oauth2-bearer",
    ),
    flags=flags("HIGH", READS_OPTIONS, "-K --config")
    | flags(
        "HIGH", "sends the traffic through another machine", "-x --proxy --preproxy --socks5 --doh-url --unix-socket"
    )
    | flags("HIGH", "sends stored credentials", "-n --netrc --netrc-file"),
)
_CURL_SENDS = words(
    "-d -F -T --data --data-raw --data-binary --data-ascii --data-urlencode --json --form --form-string --upload-file"
)
_CURL_FILES = words("-H --header --proxy-header --url-query --variable --data-url")
"""Flags of curl whose value may name a file to upload."""
_WGET = Spec(
    "MEDIUM",
    "downloads",
    operands="text",
    values=words(
        "-t -T -w -U -Q -l -A -R -D -I -X -e --header --user-agent --tries --timeout --wait --level --accept "
        "--reject --method"
    ),
    paths=uses("write", "-O -o -a -P --output-document --output-file --append-output --directory-prefix --save-cookies")
    | uses("read", "-i --input-file --load-cookies --certificate --ca-certificate")
    | uses("text", "--post-data --post-file --body-data --body-file --password --user"),
    flags=flags("HIGH", _SENDS, "--post-data --post-file --body-data --body-file")
    | flags("HIGH", RUNS_PROGRAM, "--use-askpass -e --execute --config"),
)


def _hidden_words(call: Call) -> None:
    """Rate command output and secrets in the words as HIGH, because they leave the machine."""
    if any(METADATA.search(word.text) for word in call.words):
        call.raise_to("HIGH", "a URL that gives out credentials")
    for word in call.words:
        if word.runs:
            call.raise_to("HIGH", "sends what another command printed to another machine")
        elif word.names_secret:
            call.raise_to("HIGH", "sends a secret to another machine")


def _curl(call: Call) -> None:
    options, operands = call.options(_CURL)
    urls = operands + [option.value for option in options if option.flag == "--url" and option.value]
    local = bool(urls) and all(_LOCAL.match(word.text) for word in urls)
    methods = [option.value.text for option in options if option.flag in {"-X", "--request"} and option.value]
    _asked(call, methods[-1] if methods else "", local=local)
    call.raise_to("MEDIUM", "downloads")
    call.apply(_CURL)
    if not {"-K", "--config"}.isdisjoint(flag_names(options)):
        call.opaque = "curl"
    _hidden_words(call)
    for option in options:
        _curl_option(call, option, local=local)
    if any(flag in {"-O", "--remote-name", "-J"} for flag in flag_names(options)):
        call.use(Word(".", "."), "write")
    for url in urls:
        if url.text.casefold().startswith("file:"):
            call.use(Word(url.text[5:].lstrip("/").join(("/", "")), url.raw), "read")
        elif re.match(r"(?!https?:|ftps?:)[a-z]+://", url.text, re.I):
            call.raise_to("HIGH", "connects to any host")
        elif UNKNOWN in url.text:
            call.raise_to("MEDIUM", Reason("downloads from a source only known at run time", Trait.UNCERTAIN))


def _asked(call: Call, method: str, *, local: bool) -> None:
    """Rate a request by its method: a change on this machine is MEDIUM, a deletion or another machine HIGH."""
    name = method.upper()
    if name in {"", "GET", "HEAD", "OPTIONS"}:
        return
    where = "this machine" if local else "another machine"
    does = "deletes" if name == "DELETE" else "changes"
    displayed = name if name.isalpha() and len(name) < _LONGEST_METHOD else "a request"
    call.raise_to("MEDIUM" if local and does == "changes" else "HIGH", f"{does} something on {where} ({displayed})")


_LONGEST_METHOD = 12
_CURL_OUTPUT = lazy_pattern(r"%output\{(?:>>)?([^}]*)\}")
"""Matches a file to which the format of `--write-out` redirects the output."""


def _curl_option(call: Call, option: ParsedOption, *, local: bool) -> None:
    value = option.value.text if option.value else ""
    if option.flag in _CURL_SENDS or option.flag in _CURL_FILES:
        _curl_sends(call, option, local=local)
    if option.flag in {"-b", "--cookie"} and "=" not in value:
        call.use(Word(value, value), "read")
        call.raise_to(*(("MEDIUM", "sends cookies to this machine") if local else ("HIGH", "sends stored cookies")))
    if option.flag.startswith(
        ("--socks", "--proxy", "--preproxy", "--mail", "--engine", "--aws", "--connect-to", "--proto-d")
    ):
        call.raise_to("HIGH", "sends through, to or as something else than it seems")
    if option.flag == "-w" or option.flag.startswith("--write"):
        for path in _CURL_OUTPUT.findall(value):
            call.use(Word(path, value), "write")
    if option.flag == "--resolve" and not re.search(r":(?:127(?:\.\d+){3}|\[?::1\]?)\Z", value):
        call.raise_to("HIGH", "sends to another machine than the URL names")


def _curl_sends(call: Call, option: ParsedOption, *, local: bool) -> None:
    """Rate data or a file that curl sends, as in `@FILE` and `NAME@FILE`."""
    value = option.value.text if option.value else ""
    match = re.search(r"(?:\A|=)[@<](.+)" if option.flag in _CURL_SENDS else r"\A[\w%-]*@(.+)", value)
    if match or option.flag in _CURL_SENDS:
        call.raise_to(*(("MEDIUM", "sends data to this machine") if local else ("HIGH", _SENDS)))
    source = match[1].partition(";")[0] if match else value if option.flag in {"-T", "--upload-file"} else ""
    if source and source != "-":
        call.use(Word(source, value), "read")


def _wget(call: Call) -> None:
    options, operands = call.options(_WGET)
    local = bool(operands) and all(_LOCAL.match(word.text) for word in operands)
    methods = [option.value.text for option in options if option.flag == "--method" and option.value]
    _asked(call, methods[-1] if methods else "", local=local)
    call.apply(_WGET)
    _hidden_words(call)
    if any(word.text.startswith("--load-cookies") for word in call.words):
        call.raise_to("HIGH", "sends stored cookies")
    if not any(word.text.startswith(("-O", "-q -O", "--output-document", "--spider")) for word in call.words):
        call.use(Word(".", "."), "write")


_METHODS = words("GET HEAD OPTIONS POST PUT PATCH DELETE")
_ITEM = lazy_pattern(r"[^=@]*(?::=|=)|.*@\S")
_HTTPIE = Spec(
    operands="text",
    values=words(
        "-a --auth -A --auth-type -p --print -s --style -S --timeout --max-redirects --pretty --format-options --raw "
        "--verify --cert-key-pass --boundary --response-mime --response-charset -F -H -b --body --ssl --ciphers"
    ),
    paths=uses("write", "-o --output --session") | uses("read", "--cert --cert-key"),
    flags=flags("HIGH", "sends the traffic through another machine", "--proxy --unix-socket --resolve")
    | flags("HIGH", "sends stored credentials", "--session-read-only"),
)


def _httpie(call: Call) -> None:
    """Rate httpie and xh, called as `[METHOD] URL [ITEM…]`; an item with data makes the request a POST."""
    options, operands = call.options(_HTTPIE)
    method = operands.pop(0).text.upper() if operands and operands[0].text.upper() in _METHODS else ""
    url, *items = operands or [literal("")]
    local = bool(_LOCAL.match(url.text)) or url.text.startswith((":", "/"))
    sends = [item for item in items if _ITEM.match(item.text) and "==" not in item.text]
    raw = any(option.flag in {"--raw", "--multipart", "-f", "--form"} for option in options)
    if not sends and call.piped and "--ignore-stdin" not in flag_names(options):
        sends = [literal("-")]
    _asked(call, method or ("POST" if sends or raw else "GET"), local=local)
    call.raise_to("MEDIUM", "downloads")
    call.apply(_HTTPIE)
    _hidden_words(call)
    for item in sends:
        call.raise_to(*(("MEDIUM", "sends data to this machine") if local else ("HIGH", _SENDS)))
        _, sign, path = item.text.rpartition("@")
        if sign:
            call.use(Word(path.partition(";")[0], item.raw), "read")
    if UNKNOWN in url.text or not url.text:
        call.raise_to("HIGH", Reason("sends to a destination only known at run time", Trait.UNCERTAIN))


_NO_FILES = Spec()
_OF_NAMES = {
    "dig": Spec(paths=uses("read", "-f -k"), values=words("-b -c -m -p -q -t -x -y")),
    "delv": Spec(paths=uses("read", "-a -f"), values=words("-b -c -p -q -t -x")),
    "drill": Spec(paths=uses("read", "-b -c -d -f -i -k -r") | uses("write", "-w"), values=words("-o -p -y")),
    "mtr": Spec(paths=uses("read", "-F --filename")),
}
"""Programs that look up host names, with options that name files, from most of which they send each line or the whole
content.
"""


def _asks_names(call: Call) -> None:
    call.raise_to("MEDIUM", "asks another machine")
    _hidden_words(call)
    options, _ = call.options(_OF_NAMES.get(call.name, _NO_FILES))
    for option in options:
        use = _OF_NAMES.get(call.name, _NO_FILES).paths.get(option.flag)
        if use and option.value:
            call.use(option.value, use)
    if any(UNKNOWN in word.text for word in call.words):
        call.raise_to("HIGH", Reason("sends data only known at run time to another machine", Trait.UNCERTAIN))


_NETWORK: dict[str, Rule] = {
    "curl": _curl,
    "wget": _wget,
    **dict.fromkeys(words("http https xh xhs httpie"), _httpie),
    **dict.fromkeys(words("ping ping6 dig delv nslookup host traceroute mtr whois drill getent"), _asks_names),
}


_FILES = uses("read", "-F --body-file --notes-file --input")
_ASKS = Spec("MEDIUM", "asks the host of the repository", operands="text", values=words("-R --repo"))
_SHOWS = Spec(
    "MEDIUM",
    "posts on the host of the repository",
    operands="text",
    paths=_FILES,
    values=words("-R --repo -t --title -b --body -B --base -H --head -l --label -a --assignee -r --reviewer -m"),
)
_FOR_GOOD = Spec("HIGH", "changes something on the host for good", operands="text", paths=_FILES)
_RUNS_OR_CHANGES = Spec("HIGH", Reason("runs a program, or changes what gh runs", Trait.RUNS), operands="text")
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
    **dict.fromkeys(words("auth secret ssh-key gpg-key variable config"), _FOR_GOOD),
    **dict.fromkeys(words("alias extension codespace"), _RUNS_OR_CHANGES),
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
        call.raise_to("HIGH", "approves a change in the user's name")
    else:
        _by_verb(call)


def _api(call: Call) -> None:
    """Rate `api`: GET and HEAD are MEDIUM, anything else HIGH; fields turn a GET into a POST."""
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


_SVN_CHANGES = words(
    "delete del remove rm mkdir copy cp move mv ren rename import lock unlock propset propdel propedit"
)
_DISCARDS = words("-f --force --remove-unversioned --remove-ignored --new-branch")


def _other_vcs(call: Call) -> None:
    """Rate other version control systems; a setting may define an alias, hook or extension that runs a program."""
    if any(word.text.startswith("--conf") for word in call.words):
        call.raise_to("HIGH", Reason(f"changes what {call.name} runs", Trait.RUNS))
    if call.name == "hg" and is_other_repository(call, ".hg"):  # `.hg/hgrc` names hooks and extensions
        call.raise_to("MEDIUM", OTHER_REPOSITORY)
    strings = [word.text for word in call.words]
    if call.name == "svn" and "://" in " ".join(strings) and not _SVN_CHANGES.isdisjoint(strings):
        call.raise_to("HIGH", "changes the repository on its server at once")
    if {"push", "cleanup"} & set(strings) and not _DISCARDS.isdisjoint(strings):
        call.raise_to("HIGH", "loses work")
    _OTHER_VCS(call)
    context = call.scan.context
    named = context.once("hg", lambda: program_named(context.resolved(context.workspace))) if call.name == "hg" else ""
    if named:
        call.raise_to("MEDIUM", named)


_HOSTS: dict[str, Rule] = {
    **dict.fromkeys(("gh", "glab", "hub"), _host),
    **dict.fromkeys(("hg", "svn"), _other_vcs),
}


_SETS = words(
    "up down add del delete change replace set flush netmask mtu hw promisc -K --kill -d -s -f kill restart -b -batch"
)


def _network(call: Call) -> None:
    """Rate `ip`, `ifconfig`, `route`, `arp` and `ss`, which only show the network unless a word changes it."""
    strings = [word.text for word in call.words]
    if call.name == "ip":
        call.raise_to("MEDIUM", "shows the network")
        if strings[:1] == ["netns"] and "exec" in strings:
            call.run_words(call.words[strings.index("exec") + 2 :])
    if not _SETS.isdisjoint(strings) and not (call.name == "ss" and not {"-K", "--kill"} & set(strings)):
        call.raise_to("HIGH", "changes the network")


_PORTS: dict[str, Rule] = {
    **dict.fromkeys(words("ip ifconfig route arp ss"), _network),
}

RULES: dict[str, Rule] = {**_HOSTS, **_NETWORK, **_PORTS}
ALARMING = frozenset({*_NETWORK, *_PORTS})
"""Program names that make a line HIGH if it cannot be parsed."""
