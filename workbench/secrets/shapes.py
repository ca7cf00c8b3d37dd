"""The shapes of keys: those with an issuer's prefix, and those recognized by a header, a URL or a command."""

from __future__ import annotations

import re
from collections.abc import Set as AbstractSet

from workbench.lazy_pattern import lazy_pattern
from workbench.secrets.secret_names import TOKEN_AS_USER
from workbench.secrets.shape import CHOSEN, Shape, behind, in_outline, of_commands
from workbench.secrets.tokens import TOKENS

_SHAPES: tuple[Shape, ...] = (
    Shape(
        "private key",
        ("PRIVATE KEY",),
        lazy_pattern(
            r"-----BEGIN [A-Z ]*PRIVATE KEY[A-Z ]*-----(?P<secret>"
            r"(?:(?:\s|\\[nr]|[\"'+>|,-]|(?<=\n) *\d{1,6}[\t:|-])+(?!-----END)"
            r"(?:[\w-]+: [^\s\"'\\]+|[A-Za-z0-9+/=]{4,}|=[\w+/]{4}))+"
            r"(?:\\[nr]|[\s\"'+>|,-])*?(?=-----END|\s|\\[nr]|\Z)|(?:[^-]|-(?!----)){1,10000}(?=-----END))"
        ),
        of_setting="key",
    ),
    Shape(
        "private key",
        ("Private-Lines:",),
        lazy_pattern(r"\bPrivate-Lines:[ \t]*\d+\s+(?P<secret>[\w+/=]{16,}(?:\s+[\w+/=]{4,})*)(?=\s|\Z)"),
    ),
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
        ("Digest ", "digest "),
        lazy_pattern(r"\bdigest [^\n]{0,600}?\bresponse=\"?(?P<secret>[0-9a-f]{32,64})\b", re.IGNORECASE),
        of_setting="auth",
    ),
    Shape(
        "cookies",
        ("ookie: ", "OOKIE: "),
        lazy_pattern(
            r"\bcookie: [ \t]*(?P<secret>(?=[^\n\"']{0,2000}\d)(?:[\w.$-]+=[^\s;\"'‹]*; ?)+[\w.$-]+=[^\s;\"'‹]{4,})",
            re.IGNORECASE,
        ),
        of_setting="cookie",
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
    # a password with a slash, which URLs do not allow, but servers of databases and queues take
    Shape(
        "password",
        ("://",),
        lazy_pattern(
            r"\b(?:amqps?|rediss?|postgres(?:ql)?|mysql|mariadb|mongodb(?:\+srv)?)://[^\s/:@\"']{0,100}:"
            r"(?P<secret>(?!\d{1,5}/)(?![$@])[^\s@\"'‹${}<>*/]{1,100}/[^\s@\"'‹${}<>*]{1,100})@(?=[\w\[-])"
        ),
        word="://",
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
            rf"(?:user|SETUSER) [\w.@-]{{1,80}} (?:on|off)(?: [^\s>]\S{{0,80}}){{0,9}} >(?P<secret>{CHOSEN})",
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
        "password hash",
        ("pbkdf2", "scrypt:"),
        lazy_pattern(
            r"(?<![\w-])\$?(?:pbkdf2(?:[_:-]\w+)?|scrypt)[$:][\d:]+\$[\w+/.=-]{4,64}\$(?P<secret>[\w+/.=-]{20,200})"
        ),
        words="encoded",
        sign="$",
    ),
    Shape(
        "password",
        ("curl ",),
        lazy_pattern(
            r"\bcurl [^\n]{0,400}?(?<=\s)(?:-[a-zA-Z#]*[uU]|--user|--proxy-user)[ =]?"
            r"(?:\"[^\s:\"'‹$]{1,80}:(?P<secret>[^\"\n‹$]{4,200})(?=\"))"
        ),
        names=frozenset(("curl",)),
    ),
    Shape(
        "password",
        ("curl ",),
        lazy_pattern(
            r"\bcurl [^\n]{0,400}?(?<=\s)(?:-[a-zA-Z#]*[uU]|--user|--proxy-user)[ =]?"
            r"(?:'[^\s:\"'‹$]{1,80}:(?P<secret>[^'\n‹]{4,200})(?='))"
        ),
        names=frozenset(("curl",)),
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
    of_commands("mysql,mysqldump,mysqladmin,mysqlsh,mysqlimport,mariadb,mariadb-dump,7z,7za,7zr", "-p"),
    of_commands("sshpass", "-p ?"),
    of_commands("docker login,podman login,nerdctl login,skopeo login,registry login,oc login,az login", "-p ?"),
    of_commands(
        "twine,mongo,mongosh,mongodump,mongorestore,mongoexport,mongoimport,useradd,usermod,psexec,rdesktop,ncftpput,"
        "ncftpget,evil-winrm,crackmapexec,netexec,nxc,poetry publish,expo login,rabbitmqadmin,cqlsh,unlock-keychain",
        "-p ",
    ),
    of_commands("zip,unzip,ssh-keygen", "-P "),
    of_commands("ssh-keygen", "-N "),
    of_commands("sqlcmd,bcp,mosquitto_pub,mosquitto_sub,ipmitool", "-P ?"),
    of_commands("snmpget,snmpwalk,snmpset,snmpbulkwalk", "-A "),
    of_commands("snmpget,snmpwalk,snmpset,snmpbulkwalk", "-X "),
    of_commands("rar,unrar", "-h?p"),
    of_commands("glab auth login,doctl auth init,vercel,uv publish,drone", "-t "),
    of_commands("nuget push", "-k "),
    of_commands("hatch publish", "-a "),
    of_commands("pk12util", "-W "),
    of_commands("add-generic-password,add-internet-password", "-w "),
    of_commands("gh secret set", "(?:-b|--body)[ =]?"),
    of_commands("kubectl create secret,oc create secret", r"--from-literal[= ][\w.-]+="),
    of_commands("pulumi config set", r"--secret +\S+ +"),
    of_commands("vault write,vault kv", r"\w*secret\w*="),
    of_commands("cmdkey,runas,schtasks,wmic,xfreerdp,wfreerdp,net use,rasdial", "/(?:pass(?:word)?|rp|p)[: ]"),
    of_commands("net use", r"\\\\\S+ +(?:/\S+ +)*"),
    of_commands("http -a,http --auth,https -a,xh -a,xh --auth", r"[\w.@-]{1,80}:"),
    of_commands("etcdctl", r"--user[ =][\w.@-]+:"),
    of_commands("mount,mount.cifs", r"-o ?[^\s]*?pass(?:word|wd)?="),
    of_commands("nmcli,mysqladmin", "password "),
    of_commands("db2 connect", "using "),
    of_commands("lftp", r"-u ?[\w.@-]+,"),
    of_commands("rclone config", r"\w*(?:key|pass|secret|token) +"),
    of_commands("sqlplus,impdp,expdp,sqlldr,rman", r"[\w$#.]+/"),
    of_commands("impacket-psexec,impacket-wmiexec,impacket-secretsdump,secretsdump.py,psexec.py", r"[\w./-]+:"),
    behind(
        "vault login,vault unwrap,vault operator unseal,cargo login,snyk auth,wandb login,ngrok authtoken,"
        "ngrok config add-authtoken,rclone obscure,bw unlock,netlify login,doppler login,infracost auth,fly auth token"
    ),
    behind("cargo login --registry,vault login -method=token", r"\S+ +"),
    behind("net user,bw login,rabbitmqctl add_user,rabbitmqctl change_password,wpa_passphrase", r"\S+ +"),
    behind("bundle config set,bundle config", r"[\w.-]+ +(?:[\w.-]+:)?"),
    behind(
        "poetry config,composer config", r"(?:(?:pypi-token|github-oauth|gitlab-token)\.\S+|http-basic\.\S+ +\S+) +"
    ),
    behind("ConvertTo-SecureString", r"(?:-String +)?", CHOSEN),
    of_commands("redis-cli", "(?:-a |(?i:auth) (?:[a-z]+ +)?)"),
    of_commands("ldapsearch,ldapadd,ldapmodify,ldapdelete,ldapwhoami,ldappasswd", "-w "),
    of_commands("smbclient,rpcclient,smbmap", r"-U ?[\"']?[\w.\\/-]+%"),
    of_commands("openssl", "(?:-k |pass:|-[a-z]+ pass:)"),
    of_commands("htpasswd", r"-(?:(?=\w*n)\w*b\w* +|\w*b\w* +\S+ +)\S+ +"),
    Shape(
        "password",
        ("sudo -S", "-stdin", "--with-token", "| kinit", "| cryptsetup"),
        lazy_pattern(
            rf"\b(?:echo|printf)(?: -\w+)* (?:[\"']?%s(?:\\n)?[\"']? )?[\"']?(?P<secret>{CHOSEN})[\"']? ?\| ?"
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
            rf"cryptsetup)\b[^\n|;&<]{{0,80}}) *<<< *[\"']?(?P<secret>{CHOSEN})"
        ),
        sign="<<<",
        holds=False,
    ),
    Shape(
        "password",
        ("| chpasswd", "sudo chpasswd"),
        word="chpasswd",
        pattern=lazy_pattern(rf"[\s\"'][\w.-]+:(?P<secret>{CHOSEN})[\"']? \| (?:sudo )?chpasswd"),
        of_setting="pass",
        holds=False,
    ),
    Shape(
        "password",
        ("assword '", "ASSWORD '", "ASSWORD FOR "),
        lazy_pattern(rf"\bpassword(?: for \S{{1,60}})?(?: =)? '(?P<secret>{CHOSEN})'", re.IGNORECASE),
        of_setting="pass",
    ),
    Shape(
        "password",
        ("USER ", "ROLE ", "user ", "role "),
        lazy_pattern(
            r"\b(?:user|role)\b[^;\n]{1,160}?\b(?:password|identified(?: with [\w']{1,40})?(?: by(?: password)?)?)"
            r"(?: =)? '(?P<secret>[^'\s‹$]{3,200})'",
            re.IGNORECASE,
        ),
        sign="'",
    ),
    Shape(
        "password",
        ("asicAuth(", "igestAuth(", "asic_auth(", ".login("),
        lazy_pattern(
            r"(?:basic_?auth|digest_?auth|\.login)\(\s{0,40}[\"'][^\"'\n]{1,100}[\"'],\s{0,40}"
            rf"[\"'](?P<secret>{CHOSEN})[\"']\s*\)",
            re.IGNORECASE,
        ),
    ),
    Shape(
        "password",
        ("IDENTIFIED",),
        lazy_pattern(rf"\bidentified by '(?P<secret>{CHOSEN})'", re.IGNORECASE),
        names=frozenset(("IDENTIFIED",)),
    ),
    Shape(
        "password",
        ("auth=(",),
        lazy_pattern(rf"auth=\(\s*[\"'][^\"'\n]{{1,100}}[\"'],\s*[\"'](?P<secret>{CHOSEN})[\"']\s*\)"),
        of_setting="auth",
    ),
)

SHAPES = tuple(
    shape._replace(
        gates=tuple(dict.fromkeys(map(in_outline, shape.marks))), name_gates=frozenset(map(in_outline, shape.names))
    )
    for shape in (*TOKENS, *_SHAPES)
)
_NAMES = frozenset(name for shape in SHAPES for name in shape.name_gates)

_SEPARATED = bytes(
    byte if chr(byte).isalnum() or chr(byte) in "_.-" or byte >= 128 else ord("\n") for byte in range(256)
)


def names_in(every: AbstractSet[str]) -> AbstractSet[str]:
    """Return which program names of shapes are among the words, also after a path, a bracket, or a prefix of grep such
    as `file:12:`.
    """
    raw = "\n".join(("", *every)).encode("latin-1").translate(_SEPARATED)
    return _NAMES.intersection(raw.replace(b"0-", b"\n").replace(b"\n-", b"\n").decode("latin-1").split("\n"))
