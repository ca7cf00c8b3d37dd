"""Rules for containers, clusters, clouds and databases; changes to these cannot be undone from this machine."""

from __future__ import annotations

import re

from workbench.lazy_pattern import lazy_pattern
from workbench.risk.assessment import Part
from workbench.risk.code import REDIS_READS
from workbench.risk.programs.destructive_verbs import asks_help, changes_data, destroys
from workbench.risk.programs.rule import Rule, named, subcommands, words
from workbench.risk.reason import Reason, Trait
from workbench.risk.shell.call import Call, Spec, uses
from workbench.risk.word import UNKNOWN, Word

_READS = Spec("MEDIUM", "asks a service", operands="text")
_LOCAL_READS = Spec(operands="text")
_HIGH = Spec("HIGH", "changes a service", operands="text")
_CHANGES_OR_RUNS = Reason("changes a service, or runs what its files name", Trait.RUNS)
_ACTS = Spec("HIGH", _CHANGES_OR_RUNS, operands="text")
_RUNS = Spec("MEDIUM", "runs or builds containers", operands="text")
_OPENS = words(
    "--privileged --pid --ipc --uts --cap-add --security-opt --device --userns --network=host --net=host --cgroupns "
    "--volumes-from --env-file"
)
_DOCKER: dict[str, Spec] = {
    **dict.fromkeys(
        words("ps images logs top stats port version info inspect history diff events search"),
        _LOCAL_READS,
    ),
    **dict.fromkeys(
        ("image ls", "container ls", "volume ls", "network ls", "compose ps", "compose logs"),
        _LOCAL_READS,
    ),
    **dict.fromkeys(
        words("build buildx pull create start stop restart pause unpause wait tag commit rename update compose cp"),
        _RUNS,
    ),
    **dict.fromkeys(
        ("push", "login", "logout", "rm", "rmi", "kill", "swarm", "secret", "stack", "service", "plugin", "context"),
        _HIGH,
    ),
    **dict.fromkeys(
        (
            "system prune",
            "system reset",
            "volume rm",
            "volume prune",
            "image rm",
            "image prune",
            "container rm",
            "container prune",
            "network rm",
            "compose down",
            "compose rm",
            "builder prune",
            "save",
            "export",
            "load",
            "import",
        ),
        Spec("HIGH", "deletes or replaces containers, images or data", operands="text"),
    ),
    "system df": _LOCAL_READS,
}
_docker_verb = subcommands(_DOCKER, _RUNS, "-H --host -c --context --config -f --file -p --project-name")


def _docker(call: Call) -> None:
    strings = [word.text for word in call.words]
    if any(text in _OPENS or text.partition("=")[0] in _OPENS for text in strings) or "host" in strings:
        call.raise_to("HIGH", _OPENS_MACHINE)
    if {"-H", "--host"} & set(strings[:1]):
        call.raise_to("HIGH", Reason("works on another machine", Trait.RUNS))
    for at, text in enumerate(strings):
        flag, _, value = text.partition("=")
        if flag in {"-v", "--volume", "--mount"} and (value or at + 1 < len(strings)):
            _mounted(call, value or strings[at + 1])
    operands = [text for text in strings if not text.startswith("-")]
    verb = operands[0] if operands else ""
    if verb == "exec" or operands[:2] == ["compose", "exec"]:
        _in_container(call, strings.index("exec") + 1)
        return
    composes = "run" in operands[:4] and (verb == "compose" or call.name.endswith("-compose"))
    if verb == "run" or composes:
        deletes = (composes or _gives_files(strings)) and any(map(_DELETES.match, strings))
        deletes |= changes_data(call.words)
        call.raise_to(*(("HIGH", _MOUNTED_FILES) if deletes else ("MEDIUM", "runs a program in a container")))
        _shell_in_container(call, strings)
        return
    if "inspect" in strings[:2] and not any(_INSPECTS.fullmatch(text) for text in strings):
        call.raise_to("MEDIUM", Reason("prints the environment variables of a container", Trait.PRINTS_VARIABLES))
    _docker_verb(call)


_INSPECTS = lazy_pattern(
    r"(?:(?:-f|--format)=?)?(?:[\s:,/]*\{\{\s*\.(?:State|NetworkSettings|Id|Name|Created|RestartCount|Size|Mounts)[.\w]*\s*\}\})+"
)
"""Matches formats that do not print a container's environment variables."""


_OPENS_MACHINE = Reason("lets the container access this machine", Trait.RUNS)
_MOUNTED_FILES = Reason("deletes files that are mounted in a container", Trait.RUNS)
_DELETES = lazy_pattern(
    r"(?:\S*/)?(?:rm|shred|unlink)\Z|(?:.*[\s;&|(])?(?:rm|shred)\s+-|.*-exec(?:dir)?\s+rm\s|.*\s-delete\b|-delete\Z",
    re.DOTALL,
)


def _gives_files(strings: list[str]) -> bool:
    """Return whether a container may write to files of this machine."""
    pairs = zip(strings, [*strings[1:], ""], strict=True)
    mounts = [flag.partition("=")[2] or value for flag, value in pairs if _MOUNT.match(flag)]
    return any(not mount.endswith((":ro", ",readonly", ",ro")) for mount in mounts)


_MOUNT = lazy_pattern(r"-v\Z|--(?:volume|mount)(?:=|\Z)")


def _in_container(call: Call, at: int) -> None:
    """Rate a command in a running container, in which deleting or changing files cannot be undone."""
    rest = call.words[at:]
    while rest and rest[0].text.startswith("-"):
        flag = rest.pop(0).text
        if flag in _EXEC_VALUES and rest:
            rest.pop(0)
    call.raise_to("MEDIUM", "runs a program in a container that is in use")
    if _run_elsewhere(call, rest[1:]) or not rest[1:]:
        call.raise_to("HIGH", "changes a container that is in use, which cannot be undone")


def _run_elsewhere(call: Call, command: list[Word]) -> bool:
    """Rate a command that runs in a container, dropping its paths; return whether it deletes or changes files there."""
    parts, before = call.inner, len(call.inner)
    call.run_words(command)
    changes = any(part.deletes or part.changes for part in parts[before:])
    parts[before:] = [part._replace(deletes=(), changes=(), paths=(), protected=()) for part in parts[before:]]
    return changes


_SHELL = lazy_pattern(r"(?:--entrypoint=)?(?:\S*/)?(?:ba|da|z|k|a)?sh")
_SHELL_CODE = lazy_pattern(r"-[a-z]*c")


def _shell_in_container(call: Call, strings: list[str]) -> None:
    """Add the commands that a shell runs in a new container, so that rules apply to them; their paths are not this
    machine's.
    """
    first = next((at for at, text in enumerate(strings) if _SHELL.fullmatch(text)), len(strings))
    at = next((at for at in range(first + 1, len(strings) - 1) if _SHELL_CODE.fullmatch(strings[at])), None)
    if at is None:
        return
    line = call.words[at + 1]
    for part in call.scan.inner(line.text).parts if UNKNOWN not in line.text else ():
        is_hidden = Trait.UNREAD in part.traits or (Trait.RUNS in part.traits and part.risk == "HIGH")
        opaque = "*" if is_hidden else part.opaque
        call.inner.append(Part(part.text, "MEDIUM", words=part.words, depth=part.depth, opaque=opaque))


_EXEC_VALUES = words("-e --env --env-file -u --user -w --workdir --index --detach-keys")


def _mounted(call: Call, mount: str) -> None:
    fields = dict(part.partition("=")[::2] for part in mount.split(","))
    source = fields.get("source") or fields.get("src") or mount.partition(":")[0]
    if "docker.sock" in mount:
        call.raise_to("HIGH", _OPENS_MACHINE)
    elif source.startswith(("/", ".", "~")) or "\0" in source:
        word = Word(source, source)
        call.use(word, "deep")
        path = call.scan.absolute(word)
        reads = path is None or call.scan.rating(path, "deep")[0] == "LOW"
        writes = path is not None and not mount.endswith(":ro") and call.scan.rating(path, "write")[0] == "HIGH"
        if writes or not reads:
            call.raise_to("HIGH", Reason("opens files outside the workspace to the container", Trait.RUNS))


_KUBE = subcommands(
    {
        **dict.fromkeys(
            words("get describe logs top explain api-resources api-versions cluster-info version diff events"), _READS
        ),
        **dict.fromkeys(
            ("config view", "config get-contexts", "config current-context", "auth can-i", "rollout status"), _READS
        ),
        **dict.fromkeys(
            words(
                "list|status|history|show|lint|template|search|env|repo list|dependency list|dependency ls|dep list",
                "|",
            ),
            _READS,
        ),
        **dict.fromkeys(
            ("get secret", "get secrets"), Spec("HIGH", Reason("reads secrets", Trait.READS), operands="text")
        ),
        "port-forward": Spec("MEDIUM", "connects this machine to a service", operands="text"),
    },
    _HIGH,
    "-n --namespace --context --kubeconfig --cluster",
)
_KUBE_SECRET = lazy_pattern(r"(?:[\w.,-]+,)?secrets?(?:\.v1\w*)?(?:[/,].*)?")


def _kubectl(call: Call) -> None:
    """Rate kubectl; `get secret/x` and `get pods,secrets` read secrets too."""
    strings = [word.text for word in call.words]
    if "get" in strings[:1] and any(_KUBE_SECRET.fullmatch(text) for text in strings[1:]):
        call.raise_to("HIGH", Reason("reads secrets", Trait.READS))
    if strings[:2] == ["config", "view"] and "--raw" in strings:
        call.raise_to("HIGH", Reason("reads secrets", Trait.READS))
    if not _IN_PODS.isdisjoint(strings[:_FIRST_VERBS]):
        call.raise_to("HIGH", Reason("changes a service, or runs a program there", Trait.RUNS))
        _run_elsewhere(call, call.words[strings.index("--") + 1 :] if "--" in strings else [])
    _KUBE(call)


_IN_PODS = words("exec run debug attach plugin krew")
_FIRST_VERBS = 4


_TERRAFORM = subcommands(
    {
        **dict.fromkeys(words("fmt validate version show output graph providers"), _READS),
        **dict.fromkeys(("state list", "state show", "workspace list", "workspace show", "stack ls"), _READS),
        **dict.fromkeys(
            ("init", "plan", "get", "preview"), Spec("MEDIUM", "asks services and loads plugins", operands="text")
        ),
    },
    _ACTS,
)
_DUMP = Spec(
    "MEDIUM",
    "exports a database",
    operands="text",
    values=words("-h -p -U -u -d -n -t -F --host --port --user --username --db --collection"),
    paths=uses("write", "-f --file -o --out -r --result-file --archive"),
)


def _redis(call: Call) -> None:
    """Rate redis-cli: MEDIUM for known read verbs; anything else may change or delete data."""
    options, operands = call.options(Spec(values=words("-h -p -n -a -u -r -i --user --pass")))
    verb = operands[0].text.casefold() if operands else ""
    odd = {option.flag for option in options} & {"--eval", "--rdb", "--pipe", "-x", "-X", "--functions-rdb"}
    if verb in REDIS_READS and not odd:
        call.raise_to("MEDIUM", "asks a service")
    else:
        call.raise_to("HIGH", "changes a service")


_READ_VERBS = ("describe", "list", "get", "ls", "show", "head", "help", "version", "info", "whoami", "status")
_STATUS: dict[str, frozenset[str]] = {
    "vault": words("status|version|list|kv list|secrets list|auth list|policy list|audit list|path-help", "|"),
    "op": words(
        "whoami|account list|account ls|vault list|vault ls|item list|item ls|user list|group list|vault get|"
        "document list|item template list",
        "|",
    ),
    "doppler": words("me|whoami|projects|environments|configs|projects list|configs list|update status", "|"),
    "infisical": words("user|whoami|projects list", "|"),
    "bw": words("status", "|"),
    "lpass": words("status|ls", "|"),
    "nomad": words("status|version|node status|job status|alloc status|server members|agent-info|job validate", "|"),
    "consul": words("members|info|version|catalog services|catalog nodes|validate", "|"),
    "vagrant": words("status|global-status|version|validate|port|box list|plugin list", "|"),
    "packer": words("version|validate|inspect|plugins installed", "|"),
    "direnv": words("status|version", "|"),
    "virsh": words("list|dominfo|version|net-list|pool-list", "|"),
    "lxc": words("list|info|version", "|"),
    "incus": words("list|info|version", "|"),
    "kubectl": words("config current-context|version|cluster-info", "|"),
}
"""Verbs with which programs that contain secrets or manage services only report a status."""


def or_status(other: Rule) -> Rule:
    """Return a rule that rates a call for help as LOW, for the status as MEDIUM, and any other by `other`."""

    def rule(call: Call) -> None:
        """Rate help and status, or apply the other rule."""
        strings = [word.text for word in call.words]
        status_verbs = _STATUS.get(call.name, frozenset())
        plain = all(word.is_literal for word in call.words)
        if asks_help(call.words):
            return
        if strings == ["--version"] or (
            plain
            and (
                " ".join(strings[:2]) in status_verbs
                or (strings[:1] and strings[0] in status_verbs and _only_flags(strings[1:]))
            )
        ):
            call.raise_to("MEDIUM", "shows the status")
        elif callable(other):
            other(call)
        else:
            call.apply(other)

    return rule


def _only_flags(arguments: list[str]) -> bool:
    return all(text.startswith("-") or text.count("/") or _FILE.fullmatch(text) for text in arguments)


_FILE = lazy_pattern(r"[\w-]+(?:\.[\w-]+)*\.(?:hcl|json|nomad)")


def _ansible(call: Call) -> None:
    """Rate Ansible: MEDIUM if it only checks or lists plays, otherwise HIGH."""
    looks = words("--syntax-check --list-tasks --list-hosts --list-tags --graph")
    if looks.isdisjoint(word.text for word in call.words):
        call.apply(_ACTS)
    else:
        call.raise_to("MEDIUM", "looks at what a play would do")


_SHOWS_SECRETS = lazy_pattern(r"--(?:with-decryption|show-?secrets?(?:-values)?|showsecret|include-values)(?:=true)?")


def _aws(call: Call) -> None:
    """Rate cloud clients (`aws SERVICE VERB`, `gcloud GROUP… VERB`): MEDIUM if they only list or describe."""
    if asks_help(call.words) or (call.name == "aws" and [word.text for word in call.words[-1:]] == ["help"]):
        return
    rest = [word.text for word in call.words if not word.text.startswith("-")]
    secret = any(("secret" in text or "token" in text or "password" in text or "credential" in text) for text in rest)
    secret |= any(_SHOWS_SECRETS.fullmatch(word.text) for word in call.words)
    verbs = rest[1:] if call.name == "aws" else rest
    looks = any(verb.split("-")[0] in _READ_VERBS for verb in verbs)
    changes = any(
        verb.split("-")[0]
        in {"rm", "delete", "create", "put", "update", "cp", "mv", "sync", "run", "deploy", "set", "add", "remove"}
        for verb in verbs
    )
    if looks and not secret and not changes:
        call.raise_to("MEDIUM", "asks a service")
    else:
        call.raise_to("HIGH", Reason("reads secrets", Trait.READS) if secret else "changes a service")
    if not _ON_MACHINES.isdisjoint(rest):
        call.raise_to("HIGH", _CHANGES_OR_RUNS)


_ON_MACHINES = words("ssh scp start-session send-command execute-command run-command invoke exec")
"""Verbs with which cloud clients run a command on another machine, or start ssh on this one."""


_LOOKS_AT = words(
    "status logs log list ls whoami info show version help check inspect doctor ps releases regions tail dev build "
    "types typegen serve offline local emulators:start"
)
_THINGS = words(
    "apps app machine machines volumes pg postgres d1 r2 kv queues pages deployments functions projects domains dns "
    "certs checks ips sites hosting services orgs teams"
)
_HIDDEN = lazy_pattern(r"secret|env|config|token|auth|password|cred|--remote|--output|-o\Z")


def _deploys(call: Call) -> None:
    """Rate deployment programs: MEDIUM if they show the status, or run or build the project here; otherwise HIGH."""
    strings = [word.text for word in call.words]
    operands = [text for text in strings if not text.startswith("-")]
    named = operands[1:2] if operands[:1] and operands[0] in _THINGS else operands[:1]
    looks = bool(_LOOKS_AT.intersection(named)) and not any(word.runs or UNKNOWN in word.text for word in call.words)
    if asks_help(call.words) or strings == ["--version"]:
        call.raise_to("MEDIUM", "shows the status")
    elif looks and not any(map(_HIDDEN.search, strings)) and not destroys(call.words):
        call.raise_to("MEDIUM", "shows what is deployed, or runs or builds the project here")
    else:
        runs = not _REMOTE_VERBS.isdisjoint(operands[:2])
        call.raise_to("HIGH", Reason("publishes or deploys", Trait.RUNS if runs else Trait.NONE))


_REMOTE_VERBS = words("run ssh exec console sh shell proxy execute plugins plugin")


RULES: dict[str, Rule] = {
    **dict.fromkeys(
        words("twine goreleaser vercel netlify fly flyctl heroku firebase surge wrangler serverless sls"), _deploys
    ),
    **dict.fromkeys(words("docker podman nerdctl docker-compose podman-compose"), _docker),
    **dict.fromkeys(words("kubectl oc k9s helm kustomize flux argocd istioctl"), or_status(_kubectl)),
    **dict.fromkeys(words("terraform tofu terragrunt pulumi"), or_status(_TERRAFORM)),
    **dict.fromkeys(words("aws gcloud az gsutil doctl linode-cli ibmcloud oci s3cmd mc bq eksctl"), _aws),
    **dict.fromkeys(
        words("vagrant packer vault consul nomad salt puppet chef-client virsh lxc incus"), or_status(_ACTS)
    ),
    **dict.fromkeys(("op", "bw", "lpass"), or_status(Spec("HIGH", "reads or changes stored secrets", operands="text"))),
    **dict.fromkeys(("ansible", "ansible-playbook"), or_status(_ansible)),
    "mongo": _ACTS,
    "mongosh": _ACTS,
    **named(_HIGH, "dropdb pg_restore mysqladmin mongorestore"),
    "createdb": Spec("MEDIUM", "creates a database", operands="text"),
    **named(_DUMP, "pg_dump pg_dumpall mysqldump mongodump"),
    "redis-cli": _redis,
}
