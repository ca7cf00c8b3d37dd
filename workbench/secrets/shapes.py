"""The shapes of keys, each with marks: strings that a text must contain to be searched for the shape."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from collections.abc import Set as AbstractSet
from typing import Literal, NamedTuple, TypeAlias

from workbench.lazy_pattern import lazy_pattern
from workbench.secrets.secret_names import TOKEN_AS_USER

Words: TypeAlias = Literal["", "long", "dashed", "encoded", "every"]
"""A part of a text: "" is all of it, and "every" is all of its words.

"long" is the words of at least LONG characters, "dashed" those with a hyphen or underscore, and "encoded" those that
are not URLs.
"""


class Shape(NamedTuple):
    """A kind of secret; if the pattern has a group `secret`, only that group is masked."""

    name: str
    marks: tuple[str, ...]
    """Each match contains at least one of these strings."""
    pattern: re.Pattern[str]
    words: Words = ""
    """The part of a text that contains the mark, if a match contains no space; "" for the whole text."""
    sign: str = ""
    """A string in each match that is rare elsewhere, so it is searched for first."""
    of_setting: str = ""
    """One of `assignments.MARKS` that each match contains, in any case; a text is searched for these anyway."""
    begins: bool = False
    """Whether a match starts with its mark."""
    names: frozenset[str] = frozenset()
    """Words, at least one of which is in each text with a match; empty if there are no such words."""
    gates: tuple[str, ...] = ()
    """The marks in the form of an outline."""
    name_gates: frozenset[str] = frozenset()
    """The names in the form of an outline."""
    word: str = ""
    """A string that one of the words of each match contains."""
    holds: bool = True
    """Whether a line with a mark is held until it is complete; False if the secret is the last word of a match."""

    def may_stand_in(self, parts: Mapping[Words, str], setting_marks: Collection[str], names: AbstractSet[str]) -> bool:
        """Return whether a text whose outline has these parts and names may contain a match."""
        if self.name_gates and self.name_gates.isdisjoint(names):
            return False
        if self.of_setting and self.of_setting not in setting_marks:
            return False
        if self.word not in parts["every"]:
            return False
        text = parts[self.words]
        return self.sign in text and any(gate in text for gate in self.gates)

    def matches(self, text: str) -> list[re.Match[str]]:
        """Return all matches in order and without overlaps."""
        if not self.begins:
            return list(self.pattern.finditer(text))
        matches: list[re.Match[str]] = []
        match = self.pattern.match
        for offset in sorted(offset for mark in self.marks for offset in _occurrences(text, mark)):
            if (here := match(text, offset)) and (not matches or offset >= matches[-1].end()):
                matches.append(here)
        return matches


LONG = 14
"""Minimum length of a word that is searched for secrets."""


_ZEROS = bytes(ord("0") if chr(byte).isdigit() and byte < 128 else byte for byte in range(256))


def in_outline(text: str) -> str:
    """Return the bytes of the text as characters, with every digit replaced by zero, as in an outline."""
    return text.encode(errors="surrogatepass").translate(_ZEROS).decode("latin-1")


def outline(text: str) -> str:
    """Return the distinct lines of the text with digits replaced with zeros, in any order; this shortens logs.

    A string without digits and newlines is in the outline if and only if it is in the text.
    """
    return "\n".join(set(in_outline(text).split("\n")))


def parts_of(text: str, every: AbstractSet[str]) -> dict[Words, str]:
    """Return the parts of an outline; `every` is the set of its words."""
    words = [word for word in every if len(word) >= LONG]
    dashed = [word for word in words if "-" in word or "_" in word]
    encoded = [word for word in words if "://" not in word]
    return {
        "": text,
        "long": "\n".join(words),
        "dashed": "\n".join(dashed),
        "encoded": "\n".join(encoded),
        "every": "\n".join(every),
    }


def names_in(every: AbstractSet[str]) -> AbstractSet[str]:
    """Return the names of shapes at the end of a word: after a path, a bracket, or the `file:12:` of grep."""
    raw = "\n".join(("", *every)).encode("latin-1").translate(_SEPARATED)
    return _NAMES.intersection(raw.replace(b"0-", b"\n").replace(b"\n-", b"\n").decode("latin-1").split("\n"))


_FREE = r"(?<![A-Za-z0-9])"


def _token(name: str, marks: str, rest: str, words: Words = "dashed") -> Shape:
    beginnings = marks.split()
    either = "|".join(re.escape(mark) for mark in beginnings)
    pattern = lazy_pattern(f"{_FREE}(?:{either}){rest}")
    return Shape(name, _shortest(beginnings), pattern, words=words, begins=True)


def _shortest(marks: list[str]) -> tuple[str, ...]:
    """Return the marks that do not start with another mark, which would be found first."""
    return tuple(mark for mark in marks if not any(mark != other and mark.startswith(other) for other in marks))


def _occurrences(text: str, mark: str) -> Iterator[int]:
    offset = text.find(mark)
    while offset >= 0:
        yield offset
        offset = text.find(mark, offset + 1)


_SEPARATED = bytes(
    byte if chr(byte).isalnum() or chr(byte) in "_.-" or byte >= 128 else ord("\n") for byte in range(256)
)
_FIRST = r"(?:(?<![\w.-])|(?<=\d-)|(?<=\n-)|(?<![\s\S]{2})(?<=-))"
"""The start of a command; grep writes a line of context as `file-12-line`, and a diff a removed one as `-line`."""
_CHOSEN = r"(?=[^\s\"']{0,200}[\d!@#%^&*+?~,])(?![-$<‹{(\[/])[^\s\"'‹<>|;()`]{6,200}"
"""A password chosen by a person: six or more characters that are not only letters."""


_TOKEN = r"(?=[^\s\"']{0,200}\d)(?=[^\s\"']{0,200}[A-Za-z])(?![-$<‹{(\[/])[^\s\"'‹<>|;()`:/\\]{10,200}(?![^\s\"'`;|)])"
"""A word with letters and digits that is neither a path nor a URL, such as a token."""


def _of_commands(programs: str, option: str) -> Shape:
    """Return the shape of an option's value that is a password for these programs."""
    names = programs.split(",")
    either = "|".join(map(re.escape, names))
    pattern = rf"{_FIRST}(?:{either})\b[^\n|;&]{{0,300}}?(?<=\s){option}[\"']?(?P<secret>{_CHOSEN})"
    first = frozenset(name.split()[0] for name in names)
    return Shape("password", _shortest(names), lazy_pattern(pattern), begins=True, names=first, holds=False)


def _behind(commands: str, between: str = "", secret: str = "") -> Shape:
    """Return the shape of the word after a command, its options and the text `between`."""
    names = commands.split(",")
    either = "|".join(map(re.escape, names))
    pattern = rf"{_FIRST}(?:{either}) +(?:--?[a-z][\w-]*(?:=\S+)? +)*{between}[\"']?(?P<secret>{secret or _TOKEN})"
    first = frozenset(name.split()[0] for name in names)
    return Shape("password", _shortest(names), lazy_pattern(pattern), begins=True, names=first, holds=False)


_SHAPES: tuple[Shape, ...] = (
    Shape(
        "private key",
        ("PRIVATE KEY",),
        lazy_pattern(r"-----BEGIN [A-Z ]*PRIVATE KEY[A-Z ]*-----(?P<secret>.*?)(?=-----END|\Z)", re.DOTALL),
        of_setting="key",
    ),
    _token("AWS key", "AKIA ASIA", r"[0-9A-Z]{16}(?![A-Za-z0-9])", "long"),
    _token("GitHub token", "ghp_ gho_ ghu_ ghs_ ghr_ github_pat_", r"[A-Za-z0-9_]{30,}"),
    _token("GitLab token", "glpat- glrt- gldt- glcbt- glptt- glft- gloas- glsoat-", r"(?=[\w.-]{0,80}\d)[\w.-]{8,}"),
    _token(
        "API key",
        "sk- gsk_ xai- sk_live_ rk_live_ sk_test_ whsec_",
        r"(?=[\w-]{0,80}\d)[A-Za-z0-9_-]{20,}",
    ),
    _token("Google key", "AIza", r"[\w-]{35}", "long"),
    _token("Google secret", "GOCSPX-", r"[\w-]{20,}"),
    _token("Google token", "ya29.", r"[\w-]{30,}", "long"),
    _token("Slack token", "xox xapp-", r"(?:(?<=xox)[abprs]-|(?<=xapp-))[\w-]{10,}"),
    _token("Hugging Face token", "hf_", r"[A-Za-z0-9]{30,}"),
    _token("npm token", "npm_", r"[A-Za-z0-9]{36}"),
    _token("PyPI token", "pypi-AgE", r"[\w-]{50,}"),
    _token("SendGrid key", "SG.", r"[\w-]{20,24}\.[\w-]{40,45}", "encoded"),
    _token(
        "access token",
        "dop_v1_ shpat_ shpss_ shpca_ shppa_ dckr_pat_ lin_api_ figd_ sntrys_ sntryu_ glsa_ sbp_ pscale_tkn_ "
        "pscale_pw_ rubygems_ NRAK- tskey-",
        r"(?=[\w.=-]{0,80}\d)[\w.=-]{16,}",
    ),
    _token("access token", "ATATT3 hvs. dp.pt.", r"[\w.=-]{16,}", "encoded"),
    _token("access token", "secret_ r8_", r"(?=[A-Za-z]{0,80}\d)[A-Za-z0-9]{32,}"),
    Shape(
        "Terraform token",
        (".atlasv1.",),
        lazy_pattern(r"(?<![A-Za-z0-9])[A-Za-z0-9]{14}\.atlasv1\.[\w-]{40,}"),
        words="encoded",
    ),
    _token("Databricks token", "dapi", r"[0-9a-f]{32}", "encoded"),
    _token("age key", "AGE-SECRET-KEY-1", r"[0-9A-Z]{50,}"),
    _token(
        "private key",
        "LS0tLS1CRUdJTi",
        r"(?=BQUklWQVRF|BSU0EgUFJJVkFURS|BFQyBQUklWQVRF|BPUEVOU1NI)[\w+/=]{30,}",
        "long",
    ),
    _token("Docker logins", "eyJhdXRocyI6", r"[\w+/=]{20,}", "long"),
    _token("Mailgun key", "key-", r"(?=[a-z]{0,32}\d)[0-9a-z]{32}(?![\w-])"),
    _token("Google token", "1//0", r"(?=[\w-]{0,80}\d)[\w-]{40,}", "encoded"),
    _token("web token", "eyJ", r"[\w-]{8,}\.eyJ[\w-]{8,}\.[\w-]{8,}", "long"),
    Shape(
        "token",
        (".login",),
        word=".login",
        pattern=lazy_pattern(
            r"(?<![\w.-])(?:-D ?|/d:)?[\w.-]+\.login[\"']?[ \t]*[=:][ \t]*[\"']?"
            r"(?P<secret>(?:sq[apu]_)?[0-9a-f]{32,}|(?=(?:[A-Za-z]*\d){2})(?=[A-Z\d]*[a-z])(?=[a-z\d]*[A-Z])[A-Za-z\d]{16,})"
            r"(?![^\s\"'`;|)])"
        ),
        holds=False,
    ),
    Shape(
        "Slack hook",
        ("hooks.slack.com",),
        lazy_pattern(r"hooks\.slack\.com/services/(?P<secret>[\w/]{20,})"),
        words="long",
    ),
    Shape(
        "Azure secret",
        ("Q~",),
        lazy_pattern(r"(?<![\w~.-])(?P<secret>[\w~.-]{3}[78]Q~[\w~.-]{31,34})(?![\w~.-])"),
        words="long",
        sign="~",
    ),
    Shape(
        "header",
        ("uthorization", "UTHORIZATION"),
        lazy_pattern(
            r"\bauthorization[\"']?\s*[:=]\s*[\"']?(?:(?:bearer|basic|token)\s+)?"
            r"(?P<secret>(?:(?<=basic )(?=[\w+/-]*(?-i:[A-Z\d+/=]))|(?=[\w.~+/-]{16})(?=[\w.~+/-]{0,200}\d))"
            r"[\w.~+/-]{6,}=*)",
            re.IGNORECASE,
        ),
        of_setting="auth",
    ),
    Shape(
        "header",
        ("earer ",),
        word="earer",
        pattern=lazy_pattern(r"\bbearer\s+(?P<secret>(?=[\w.~+/-]{0,200}\d)[\w.~+/-]{16,}=*)", re.IGNORECASE),
    ),
    Shape(
        "password",
        ("://",),
        word="://",
        pattern=lazy_pattern(
            rf"://(?:[^\s/:@\"']{{0,100}}:(?!(?i:password|passwd|pass|pwd|secret|token|pw)@)|{TOKEN_AS_USER})"
            r"(?P<secret>(?![$@])(?:[^\s/\"'‹${}<>*]|\$(?![{(])){3,200})@(?=[\w\[-])"
        ),
        sign="@",
    ),
    Shape(
        "password",
        ("jdbc:oracle:",),
        lazy_pattern(r"jdbc:oracle:\w{1,10}:[\w.$#-]{1,80}/(?P<secret>(?!\$\{)[^\s@/\"'‹<>]{3,200})@"),
        words="encoded",
        sign="@",
    ),
    Shape(
        "password",
        ("machine", "default"),
        lazy_pattern(
            r"(?:\bmachine\s+\S+|\bdefault)(?:\s+(?:(?:login|user|account)\s+\S+|#[^\n]*))*"
            r"\s+passw(?:or)?d\s+(?P<secret>[^\s‹]{3,})"
        ),
        of_setting="pass",
        begins=True,
        holds=False,
    ),
    Shape(
        "user of Redis",
        ("user ", "SETUSER "),
        lazy_pattern(
            rf"(?:user|SETUSER) [\w.@-]{{1,80}} (?:on|off)(?: [^\s>]\S{{0,80}}){{0,9}} >(?P<secret>{_CHOSEN})",
            re.IGNORECASE,
        ),
        sign=">",
        begins=True,
        holds=False,
    ),
    # lines of /etc/shadow; the salted hash of a password can be attacked offline
    Shape(
        "password hash",
        (":::",),
        lazy_pattern(r"(?<![\w.-])[\w.-]{1,40}:!?(?P<secret>[\w./$=,+-]{13,200}):\d{1,6}:\d*:\d*:\d*:\d*:\d*:(?!\S)"),
        words="encoded",
    ),
    Shape(
        "password hash",
        ("$1$", "$5$", "$6$", "$7$", "$y$", "$gy$", "$apr1$", "$2a$", "$2b$", "$2x$", "$2y$", "$argon2", "$scrypt$"),
        lazy_pattern(
            r"\$(?:(?:1|apr1)\$[\w./]{1,16}\$[\w./]{22}|5\$(?:rounds=\d+\$)?[\w./]{1,16}\$[\w./]{43}"
            r"|6\$(?:rounds=\d+\$)?[\w./]{1,16}\$[\w./]{86}|2[abxy]\$\d\d\$[\w./]{53}|7\$[\w./$]{54,}"
            r"|g?y\$[\w./]{2,20}\$[\w./]{1,86}\$[\w./]{43}|argon2(?:id|i|d)\$v=\d+\$[\w=,]+\$[\w+/]+\$[\w+/]+"
            r"|scrypt\$[\w=,]+\$[\w+/]+\$[\w+/]+)(?![\w./])"
        ),
        words="encoded",
        sign="$",
        begins=True,
    ),
    Shape(
        "password hash",
        ("SHA}", "SHA256}", "SHA384}", "SHA512}", "MD5}", "CRYPT}"),
        lazy_pattern(r"\{(?:S?(?:SHA(?:256|384|512)?|MD5)|CRYPT)\}(?P<secret>[\w+/.$]{20,}=*)"),
        words="encoded",
        sign="}",
    ),
    Shape(
        "password",
        ("curl ",),
        lazy_pattern(
            r"\bcurl [^\n]{0,400}?(?<=\s)(?:-[a-zA-Z#]*[uU]|--user|--proxy-user)[ =]?[\"']?[^\s:\"'‹$]{1,80}[\"']?:"
            r"[\"']?(?P<secret>[^\s\"'‹]{4,200})"
        ),
        names=frozenset(("curl",)),
    ),
    # .pgpass: host:port:database:user:password
    Shape(
        "password",
        (":5432:", ":*:"),
        lazy_pattern(r"^[ \t]*[\w.*/-]+:(?:\d{2,5}|\*):[\w*-]+:[\w.@-]+:(?P<secret>[^\s:‹]{4,})[ \t]*$", re.MULTILINE),
        words="encoded",
    ),
    Shape(
        "signature",
        ("ignature=", "sig="),
        lazy_pattern(r"[?&;#](?:[\w-]{0,30}[Ss]ignature|sig)=(?P<secret>[^\s&\"'<>‹]{16,})"),
        words="long",
        sign="&",
        holds=False,
    ),
    Shape(
        "code",
        ("code=",),
        lazy_pattern(r"[?&]code=(?P<secret>(?=[^\s&]{0,200}\d)[\w%/.~-]{16,})"),
        words="long",
        sign="&",
        holds=False,
    ),
    Shape(
        "Discord hook",
        ("/api/webhooks/",),
        lazy_pattern(r"/api/webhooks/\d+/(?P<secret>[\w-]{40,})"),
        words="long",
    ),
    Shape("Telegram token", (":AA",), lazy_pattern(r"(?<!\d)\d{8,10}:AA[\w-]{30,40}"), words="long"),
    _of_commands("mysql,mysqldump,mysqladmin,mysqlsh,mysqlimport,mariadb,mariadb-dump,7z,7za,7zr", "-p"),
    _of_commands("sshpass", "-p ?"),
    _of_commands("docker login,podman login,nerdctl login,skopeo login,registry login,oc login,az login", "-p ?"),
    _of_commands(
        "twine,mongo,mongosh,mongodump,mongorestore,mongoexport,mongoimport,useradd,usermod,psexec,rdesktop,ncftpput,"
        "ncftpget,evil-winrm,crackmapexec,netexec,nxc,poetry publish,expo login,rabbitmqadmin,cqlsh,unlock-keychain",
        "-p ",
    ),
    _of_commands("zip,unzip,ssh-keygen", "-P "),
    _of_commands("ssh-keygen", "-N "),
    _of_commands("sqlcmd,bcp,mosquitto_pub,mosquitto_sub,ipmitool", "-P ?"),
    _of_commands("snmpget,snmpwalk,snmpset,snmpbulkwalk", "-A "),
    _of_commands("snmpget,snmpwalk,snmpset,snmpbulkwalk", "-X "),
    _of_commands("rar,unrar", "-h?p"),
    _of_commands("glab auth login,doctl auth init,vercel,uv publish,drone", "-t "),
    _of_commands("nuget push", "-k "),
    _of_commands("hatch publish", "-a "),
    _of_commands("pk12util", "-W "),
    _of_commands("add-generic-password,add-internet-password", "-w "),
    _of_commands("gh secret set", "(?:-b|--body)[ =]?"),
    _of_commands("kubectl create secret,oc create secret", r"--from-literal[= ][\w.-]+="),
    _of_commands("pulumi config set", r"--secret +\S+ +"),
    _of_commands("vault write,vault kv", r"\w*secret\w*="),
    _of_commands("cmdkey,runas,schtasks,wmic,xfreerdp,wfreerdp,net use,rasdial", "/(?:pass(?:word)?|rp|p)[: ]"),
    _of_commands("net use", r"\\\\\S+ +(?:/\S+ +)*"),
    _of_commands("http -a,http --auth,https -a,xh -a,xh --auth", r"[\w.@-]{1,80}:"),
    _of_commands("etcdctl", r"--user[ =][\w.@-]+:"),
    _of_commands("mount,mount.cifs", r"-o ?[^\s]*?pass(?:word|wd)?="),
    _of_commands("nmcli,mysqladmin", "password "),
    _of_commands("db2 connect", "using "),
    _of_commands("lftp", r"-u ?[\w.@-]+,"),
    _of_commands("rclone config", r"\w*(?:key|pass|secret|token) +"),
    _of_commands("sqlplus,impdp,expdp,sqlldr,rman", r"[\w$#.]+/"),
    _of_commands("impacket-psexec,impacket-wmiexec,impacket-secretsdump,secretsdump.py,psexec.py", r"[\w./-]+:"),
    _behind(
        "vault login,vault unwrap,vault operator unseal,cargo login,snyk auth,wandb login,ngrok authtoken,"
        "ngrok config add-authtoken,rclone obscure,bw unlock,netlify login,doppler login,infracost auth,fly auth token"
    ),
    _behind("cargo login --registry,vault login -method=token", r"\S+ +"),
    _behind("net user,bw login,rabbitmqctl add_user,rabbitmqctl change_password,wpa_passphrase", r"\S+ +"),
    _behind("bundle config set,bundle config", r"[\w.-]+ +(?:[\w.-]+:)?"),
    _behind(
        "poetry config,composer config", r"(?:(?:pypi-token|github-oauth|gitlab-token)\.\S+|http-basic\.\S+ +\S+) +"
    ),
    _behind("ConvertTo-SecureString", r"(?:-String +)?", _CHOSEN),
    _of_commands("redis-cli", "(?:-a |(?i:auth) (?:[a-z]+ +)?)"),
    _of_commands("ldapsearch,ldapadd,ldapmodify,ldapdelete,ldapwhoami,ldappasswd", "-w "),
    _of_commands("smbclient,rpcclient,smbmap", r"-U ?[\"']?[\w.\\/-]+%"),
    _of_commands("openssl", "(?:-k |pass:|-[a-z]+ pass:)"),
    _of_commands("htpasswd", r"-(?:(?=\w*n)\w*b\w* +|\w*b\w* +\S+ +)\S+ +"),
    Shape(
        "password",
        ("sudo -S", "-stdin", "--with-token", "| kinit", "| cryptsetup"),
        lazy_pattern(
            rf"\b(?:echo|printf)(?: -\w+)* (?:[\"']?%s(?:\\n)?[\"']? )?[\"']?(?P<secret>{_CHOSEN})[\"']? ?\| ?"
            r"(?:sudo -S|(?:sudo )?(?:kinit|cryptsetup)\b|[^\n|]{0,120}--(?:[\w-]*stdin|with-token)\b)"
        ),
        names=frozenset(("echo", "printf")),
        holds=False,
    ),
    Shape(
        "password",
        ("<<<",),
        word="<<<",
        pattern=lazy_pattern(
            r"(?:--with-token|--[\w-]*stdin|\bsudo -S[^\n|;&<]{0,80}|\b(?:kinit|secret (?:put|set)|pass insert|"
            rf"cryptsetup)\b[^\n|;&<]{{0,80}}) *<<< *[\"']?(?P<secret>{_CHOSEN})"
        ),
        sign="<<<",
        holds=False,
    ),
    Shape(
        "password",
        ("| chpasswd", "sudo chpasswd"),
        word="chpasswd",
        pattern=lazy_pattern(rf"[\s\"'][\w.-]+:(?P<secret>{_CHOSEN})[\"']? \| (?:sudo )?chpasswd"),
        of_setting="pass",
        holds=False,
    ),
    Shape(
        "password",
        ("assword '", "ASSWORD '", "ASSWORD FOR "),
        lazy_pattern(rf"\bpassword(?: for \S{{1,60}})?(?: =)? '(?P<secret>{_CHOSEN})'", re.IGNORECASE),
        of_setting="pass",
    ),
    Shape(
        "password",
        ("IDENTIFIED",),
        lazy_pattern(rf"\bidentified by '(?P<secret>{_CHOSEN})'", re.IGNORECASE),
        names=frozenset(("IDENTIFIED",)),
    ),
    Shape(
        "password",
        ("auth=(",),
        lazy_pattern(rf"auth=\(\s*[\"'][^\"'\n]{{1,100}}[\"'],\s*[\"'](?P<secret>{_CHOSEN})[\"']\s*\)"),
        of_setting="auth",
    ),
)

SHAPES = tuple(
    shape._replace(
        gates=tuple(dict.fromkeys(map(in_outline, shape.marks))), name_gates=frozenset(map(in_outline, shape.names))
    )
    for shape in _SHAPES
)
_NAMES = frozenset(name for shape in SHAPES for name in shape.name_gates)
