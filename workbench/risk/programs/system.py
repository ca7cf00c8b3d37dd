"""Rules for programs that act on the system: processes, disks, users, services, schedulers, message buses.

A request to a service manager or a message bus is carried out by another process, which was not started by a shell of
the session and has its own rights and environment.
"""

from __future__ import annotations

import re
from itertools import pairwise

from workbench.lazy_pattern import lazy_pattern
from workbench.risk.programs.destructive_verbs import asks_help
from workbench.risk.programs.rule import Rule, always, named, subcommands, words
from workbench.risk.reason import (
    BY_SERVICE,
    MOUNTS,
    OTHER_RIGHTS,
    READS_PROCESS,
    RUNS_LATER,
    RUNS_UNSEEN,
    SCHEDULES,
    Reason,
    Trait,
)
from workbench.risk.shell.call import Call, Spec
from workbench.risk.word import UNKNOWN, literal

_ASKS = Spec("MEDIUM", "queries a system service", operands="text")
_FILES = Spec("MEDIUM", "queries a system service", operands="read")
_BUS = Reason("has another process act, over the message bus", Trait.RUNS)
_SERVICES = Reason("changes services", Trait.RUNS)
_SESSIONS = "changes or ends sessions of this machine"
_SETTINGS = "changes settings of the machine"
_PREFERENCES = Reason("changes settings of this user's programs", Trait.RUNS)
_LATER = Reason("runs automatically later", Trait.RUNS)
_STEERS = Reason("steers other programs", Trait.RUNS)
_ACTS_OR_CHANGES = Reason("has another program act, or changes files", Trait.RUNS)


def _acts(reason: str, looks: str, values: str = "", *, bare: bool = True, harmless: Spec = _ASKS) -> Rule:
    """Return a rule for a program with verbs: those in `looks` are rated as `harmless`, all others HIGH.

    Verbs of two words in `looks` require `|` as the separator. `values` are flags before the verb that take a value.
    With `bare`, a call without a verb is harmless too.
    """
    asking = words(looks, "|" if "|" in looks else None)
    longer = {verb.partition(" ")[0] for verb in asking if " " in verb}
    before = Spec(values=words(values))

    def rule(call: Call) -> None:
        """Rate the call by its verb; asking for help is harmless."""
        operands = [word.text for word in call.options(before)[1]]
        verb = " ".join(operands[: 2 if operands[:1] and operands[0] in longer else 1])
        asks = asks_help(call.words) or (verb in asking if verb else bare)
        call.apply(harmless if asks else Spec("HIGH", reason, operands="text"))

    return rule


_RUN_WHEN_OPENED = lazy_pattern(
    r".*\.(?:desktop|app|command|tool|terminal|workflow|scptd?|applescript|exe|bat|cmd|lnk|jar|AppImage|pkg|sh|py)/?|"
    r"(?i:terminal|iterm\d*|ghostty|kitty|wezterm|alacritty|warp|konsole|automator|script editor)"
)
"""Matches files that run when the system opens them, and names of terminals."""


def _opener(call: Call) -> None:
    """Rate a program that has the desktop open a file or a URL: HIGH if opening it runs it."""
    call.raise_to("MEDIUM", "opens a program")
    if any(UNKNOWN in word.text or _RUN_WHEN_OPENED.fullmatch(word.text) for word in call.words):
        call.raise_to("HIGH", BY_SERVICE)


def _dbus_send(call: Call) -> None:
    """Rate dbus-send: MEDIUM for methods of the bus and standard interfaces that only query, otherwise HIGH."""
    operands = [word.text for word in call.words if not word.text.startswith("-")]
    asks = len(operands) > 1 and bool(_BUS_ASKS.fullmatch(operands[1])) and operands[0].startswith("/")
    call.raise_to(*(("MEDIUM", _ASKS.reason) if asks else ("HIGH", _BUS)))


_BUS_ASKS = lazy_pattern(
    r"(?:org\.freedesktop\.DBus\.)?(?:Introspectable\.Introspect|Properties\.Get(?:All)?|Peer\.(?:Ping|GetMachineId)|"
    r"ListNames|ListActivatableNames|NameHasOwner|GetNameOwner|GetId|ObjectManager\.GetManagedObjects)"
)


def _qdbus(call: Call) -> None:
    """Rate qdbus, which takes a service, a path and a method; with fewer operands, it lists them."""
    operands = [word.text for word in call.words if not word.text.startswith("-")]
    asks = len(operands) < 3 or bool(_BUS_ASKS.fullmatch(operands[2]))
    call.raise_to(*(("MEDIUM", _ASKS.reason) if asks else ("HIGH", _BUS)))


def _crontab(call: Call) -> None:
    lists = [word.text for word in call.words] == ["-l"]
    call.raise_to(*(("MEDIUM", "lists scheduled jobs") if lists else ("HIGH", SCHEDULES)))


def _at(call: Call) -> None:
    """Rate at: MEDIUM for `at -l` and `atq`, which list jobs, and `-c`, which shows one; otherwise HIGH."""
    lists = call.name == "atq" or [word.text for word in call.words[:1]] in (["-l"], ["-c"], ["-V"])
    call.raise_to(*(("MEDIUM", "lists scheduled jobs") if lists else ("HIGH", RUNS_LATER)))


def _flagged(reason: str, looks: str) -> Rule:
    """Return a rule for a program without verbs: MEDIUM if its flags, the first word among them, are in `looks`.

    Otherwise it is HIGH. A flag after the first operand may belong to a command that the program runs.
    """
    asking = words(looks)

    def rule(call: Call) -> None:
        """Rate by the flags."""
        flags = {word.text.partition("=")[0] for word in call.words if word.text.startswith("-")}
        asks = call.words[:1] != [] and call.words[0].text.startswith("-") and flags <= asking
        call.raise_to(*(("MEDIUM", _ASKS.reason) if asks else ("HIGH", reason)))

    return rule


def _changed_by(reason: str, changes: str) -> Rule:
    """Return a rule for a program: HIGH if one of the flags or words in `changes` is given, otherwise MEDIUM."""
    changing = words(changes)

    def rule(call: Call) -> None:
        """Rate by the flags."""
        flags = [word.text.partition("=")[0] for word in call.words]
        call.raise_to(*(("MEDIUM", _ASKS.reason) if changing.isdisjoint(flags) else ("HIGH", reason)))

    return rule


_ON_A_MACHINE = "-H --host -M --machine -t --type --state -p --property -o --output -n --lines --no-pager"
_SYSTEMCTL = subcommands(
    dict.fromkeys(
        words("status show is-active is-enabled is-failed list-units list-unit-files cat list-timers --version"),
        Spec(operands="text"),
    ),
    Spec("HIGH", _SERVICES, operands="text"),
    "-H --host -M --machine -t --type --state",
)
_VALUES = _ON_A_MACHINE.removesuffix(" --no-pager")

_SYSTEMD: dict[str, Rule] = {
    "systemd-analyze": _acts(
        "changes how the machine is run",
        "blame critical-chain time plot dot dump calendar timestamp timespan unit-files unit-paths verify security "
        "cat-config condition exit-status capability syscall-filter filesystems inspect-elf compare-versions",
        _VALUES,
    ),
    "systemd-resolve": _changed_by(
        "changes the network or the firewall",
        "--set-dns --set-domain --set-llmnr --set-mdns --set-dnssec --set-nta --revert --flush-caches "
        "--reset-server-features --reset-statistics",
    ),
    "systemd-tmpfiles": _flagged(_SETTINGS, "--cat-config --help --version --tldr"),
    "systemd-sysusers": _flagged(_SETTINGS, "--cat-config --help --version --tldr"),
    "systemd-hwdb": _acts(_SETTINGS, "query"),
    "systemd-sysext": _acts(_SETTINGS, "status list"),
    "systemd-confext": _acts(_SETTINGS, "status list"),
    "systemd-id128": _acts(_SETTINGS, "new machine-id boot-id invocation-id show"),
    "systemd-dissect": _flagged(MOUNTS, "--help --version --discover -l --list"),
    "systemd-mount": _flagged(MOUNTS, "--list --help --version"),
    "systemd-ask-password": Spec("HIGH", "asks the user for a password", operands="text"),
    **named(
        _ASKS, "systemd-cgls systemd-cgtop systemd-detect-virt systemd-path systemd-escape systemd-delta systemd-notify"
    ),
}
"""Rules for those programs named `systemd-…` that can be harmless; all others are HIGH."""


def systemd(program: str) -> Rule | None:
    """Return the rule (HIGH) for programs named `systemd-…` without a rule of their own, or None for other programs."""
    return _OTHER_OF_SYSTEMD if program.startswith("systemd-") else None


_OTHER_OF_SYSTEMD = Spec("HIGH", Reason("leaves its sandbox, or steers the machine", Trait.RUNS), operands="text")

RULES: dict[str, Rule] = {
    **_SYSTEMD,
    "busctl": _acts(
        _BUS,
        "list status monitor capture tree introspect get-property wait help",
        f"{_VALUES} --address --match --timeout --size -C --capsule",
    ),
    "varlinkctl": _acts(_BUS, "info list-interfaces list-methods introspect validate-idl help", _VALUES),
    "gdbus": _acts(_BUS, "introspect monitor wait help"),
    "dbus-send": _dbus_send,
    **dict.fromkeys(words("qdbus qdbus6 qdbus-qt5 qdbus-qt6 qdbusviewer dcop"), _qdbus),
    **named(_ASKS, "dbus-monitor dbus-uuidgen"),
    **always(
        "HIGH", _BUS, "dbus-daemon dbus-broker dbus-broker-launch dbus-test-tool dbus-update-activation-environment"
    ),
    **dict.fromkeys(words("systemctl service rc-service initctl supervisorctl"), _SYSTEMCTL),
    "loginctl": _acts(
        _SESSIONS,
        "list-sessions session-status show-session list-users user-status show-user list-seats seat-status show-seat",
        _VALUES,
    ),
    "machinectl": _acts(
        BY_SERVICE,
        "list status show list-images image-status show-image list-transfers",
        _VALUES,
    ),
    "portablectl": _acts(_SERVICES, "list inspect is-attached", _VALUES),
    "importctl": _acts(Reason("downloads a system to run", Trait.RUNS), "list-transfers list-images", _VALUES),
    "homectl": _acts("changes users or rights", "list inspect", _VALUES),
    **dict.fromkeys(
        words("hostnamectl timedatectl"),
        _acts(_SETTINGS, "status show list-timezones timesync-status show-timesync", _VALUES),
    ),
    "hwclock": _changed_by(
        _SETTINGS, "-w --systohc -s --hctosys --set --adjust -a --setepoch --systz --param-set --predict-hc"
    ),
    **dict.fromkeys(words("ntpdate sntp rdate chronyd ntpd"), _flagged(_SETTINGS, "-q --help --version -h -V")),
    "chronyc": _acts(_SETTINGS, "tracking sources sourcestats activity ntpdata clients help", bare=False),
    "nvram": _flagged(_SETTINGS, "-p -x -xp"),
    "scutil": _flagged(_SETTINGS, "--get --dns --proxy --nwi -r"),
    "pmset": _flagged(_SETTINGS, "-g"),
    "ethtool": _changed_by(
        "changes the network or the firewall",
        "-A -C -D -E -f -G -K -L -N -p -P -r -s -t -U -W -X --change --features --offload --reset --set-eee --flash "
        "--pause --coalesce --set-ring --set-channels --config-nfc --set-priv-flags --test --negotiate",
    ),
    "net": _changed_by(_SETTINGS, "/add /delete /active:no stop start share send"),
    "adjtimex": _flagged(_SETTINGS, "-p --print --help --version"),
    "localectl": _acts(
        _SETTINGS,
        "status list-locales list-keymaps list-x11-keymap-models list-x11-keymap-layouts list-x11-keymap-variants "
        "list-x11-keymap-options",
        _VALUES,
    ),
    "networkctl": _acts("changes the network or the firewall", "list status lldp cat", _VALUES),
    "resolvectl": _acts("changes the network or the firewall", "query status statistics service openpgp tlsa", _VALUES),
    "nmcli": _acts(
        "changes the network or the firewall",
        "general|general status|g|g status|dev|device|d|dev status|device status|d status|dev show|device show|"
        "dev wifi|device wifi|dev wifi list|con|connection|c|con show|connection show|c show|monitor",
        "-f -t -g --fields --get-values -m --mode -c --colors -e --escape -w --wait",
    ),
    "coredumpctl": _acts(READS_PROCESS, "list info", _VALUES),
    "udevadm": _acts(_SETTINGS, "info monitor settle verify"),
    "udisksctl": _acts(MOUNTS, "status info monitor dump help"),
    "bluetoothctl": _acts(_SETTINGS, "list show devices info version help", bare=False),
    "rfkill": _acts(_SETTINGS, "list help"),
    "launchctl": _acts(_LATER, "list print print-disabled version help dumpstate getenv managername manageruid"),
    "defaults": _acts(_PREFERENCES, "read read-type domains find help"),
    "crontab": _crontab,
    **dict.fromkeys(words("at batch atq"), _at),
    "schtasks": _acts(SCHEDULES, "/query /Query /QUERY"),
    **dict.fromkeys(words("sv s6-rc rc-update chkservice monit circusctl"), _acts(_SERVICES, "status check list")),
    **always(
        "HIGH", _LATER, "atrm atd update-rc.d chkconfig fcrontab incrontab anacron runsvdir svc s6-svc svscan s6-svscan"
    ),
    **dict.fromkeys(
        words("gsettings dconf"),
        _acts(
            _PREFERENCES,
            "get list list-schemas list-relocatable-schemas list-keys list-children list-recursively range describe "
            "writable monitor read dump watch help",
        ),
    ),
    **dict.fromkeys(
        words("gconftool-2 gconftool"), _flagged(_PREFERENCES, "-g --get -a --all-entries -R --recursive-list --dump")
    ),
    "xfconf-query": _changed_by(_PREFERENCES, "-s --set -n --create -r --reset -T --toggle -R --recursive"),
    **always("HIGH", _PREFERENCES, "kwriteconfig kwriteconfig5 kwriteconfig6 plasma-apply-colorscheme"),
    **dict.fromkeys(
        words("xdg-mime xdg-settings xdg-icon-resource xdg-desktop-menu"), _acts(_PREFERENCES, "query get check")
    ),
    "gio": _acts(_ACTS_OR_CHANGES, "list info cat tree monitor help version open", harmless=_FILES),
    "gapplication": _acts(_STEERS, "help version list-apps list-actions"),
    **always(
        "HIGH",
        _STEERS,
        "gtk-launch exo-open kstart kstart5 kioclient kioclient5 kde-open kde-open5 dex xdotool ydotool wtype dotool "
        "xte wmctrl xvkbd evemu-event nvr openvt chvt loadkeys gpg-connect-agent wall write snapctl",
    ),
    **dict.fromkeys(
        words("i3-msg swaymsg hyprctl niri bspc awesome-client herbstclient"),
        _acts(_STEERS, "version monitors workspaces clients activewindow devices query", "-t --type -s --socket"),
    ),
    **dict.fromkeys(words("kitty kitten"), _changed_by(_STEERS, "@ -o --override --listen-on")),
    **dict.fromkeys(words("emacsclient emacsclientw"), _changed_by(_STEERS, "-e -ne -ce -te -nce --eval -T --tramp")),
    **dict.fromkeys(
        words(
            "dtach abduco reptyr byobu byobu-tmux byobu-screen gnome-terminal konsole xfce4-terminal mate-terminal "
            "lxterminal qterminal terminator tilix ptyxis kgx guake yakuake tilda foot footclient ghostty alacritty "
            "xterm uxterm rxvt urxvt urxvtc urxvtd terminology cool-retro-term rio x-terminal-emulator"
        ),
        _acts(RUNS_UNSEEN, "", bare=False),
    ),
    "zellij": _acts(RUNS_UNSEEN, "list-sessions ls list-aliases setup", bare=False),
    **dict.fromkeys(
        words("pm2 forever"),
        _acts(
            BY_SERVICE, "list ls l status show describe info logs log prettylist jlist id pid ping report", bare=False
        ),
    ),
    "watchman": _acts(
        BY_SERVICE, "version get-config get-pid get-sockname watch-list find since query list-capabilities", bare=False
    ),
    "wezterm": _acts(_STEERS, "ls-fonts show-keys cli|cli list|help", bare=True),
}


_READS = Spec(operands="text")
_AT_ONCE = frozenset(("-9", "-KILL", "-SIGKILL", "KILL", "SIGKILL", "--SIGNAL=KILL", "--SIGNAL=9", "--SIGNAL=SIGKILL"))
_ONE_PROGRAM = lazy_pattern(
    r"""\"?(?:\$!|\$\((?:lsof\s+-t?i?t?\s*-?[ti]*\s*(?:tcp|udp)?:\d+|pgrep\s+(?:-f\s+)?[\w./'"-]+|pidof\s+[\w.-]+)\s*\))\"?\Z"""
)
"""A word that names the processes listening on one port, those with one name, or the last background job."""


def _kill(call: Call) -> None:
    call.raise_to("MEDIUM", "ends processes")
    strings = [word.text for word in call.words]
    if strings in (["-l"], ["-L"]):
        return
    if (
        strings[-1:] in (["-1"], ["0"], ["1"])
        or "-u" in strings
        or any(not word.is_literal and not _ONE_PROGRAM.match(word.raw) for word in call.words)
    ):
        call.raise_to("HIGH", Reason("ends processes only known at run time, or all of them", Trait.UNCERTAIN))
    if any(_is_service(port) for word in call.words for port in _LISTENS.findall(word.raw)):
        call.raise_to("HIGH", "ends a service or a database")
    if call.name in {"killall5", "skill", "xkill"}:
        call.raise_to("HIGH", Reason("ends processes only known at run time, or all of them", Trait.UNCERTAIN))
    if call.name != "kill" and any(_WORKBENCH.search(text) for text in strings):
        call.raise_to("HIGH", "ends the workbench itself")
    by_pattern = call.name == "pkill" or not {"-r", "--regexp"}.isdisjoint(strings)
    if by_pattern and any(not text.strip(".*^$+") for text in strings):
        call.raise_to("HIGH", "ends every process")
    if call.name in {"killall", "pkill"}:
        _kill_by_name(call, strings)


def _kill_by_name(call: Call, strings: list[str]) -> None:
    if _AT_ONCE & {text.upper() for text in strings}:
        call.raise_to("HIGH", "ends every process of that name, whatever it has not saved")
    if any(_SHARED.fullmatch(text) for text in strings):
        call.raise_to("HIGH", "ends every process of that name, also the user's own")


_SHARED = lazy_pattern(
    r"(?i:bash|sh|zsh|fish|ssh|sshd|tmux|screen|emacs|vim|nvim|code|"
    r"docker|dockerd|containerd|systemd|xorg|gnome-shell|plasmashell|finder|dock|firefox|chrome|chromium|google chrome|"
    r"safari|postgres|mysqld|mongod|redis-server)"
)
"""Names of shells, editors, browsers, databases and parts of the desktop, which the user works with."""
_WORKBENCH = lazy_pattern(r"\bohw\b|\bworkbench\b")


def _fuser(call: Call) -> None:
    """Rate fuser, which lists the processes that use a file or port, or kills them with `-k`."""
    strings = [word.text for word in call.words]
    if not any(text == "--kill" or _FUSER_KILLS.match(text) for text in strings):
        call.raise_to("MEDIUM", "asks who uses a file")
        return
    ports = all(_PORT.fullmatch(text) and not _is_service(text) for text in strings if not text.startswith("-"))
    call.raise_to("MEDIUM" if ports else "HIGH", "ends all processes that use it")


def _is_service(text: str) -> bool:
    """Return whether a system service or database usually listens on the port, rather than a development server."""
    number = int(re.sub(r"\D", "", text) or 0)
    return 0 < number < 1024 or number in _DATA_BASES


_DATA_BASES = frozenset((1433, 1521, 2181, 3306, 5432, 5672, 6379, 6443, 7687, 8086, 9042, 9092, 9200, 11211, 27017))
_LISTENS = lazy_pattern(r"lsof[^|;)]*:(\d+)")
_FUSER_KILLS = lazy_pattern(r"-\w*k")
_PORT = lazy_pattern(r"\d+(?:/(?:tcp|udp))?|tcp|udp")


def _as_other(call: Call) -> None:
    call.raise_to("HIGH", OTHER_RIGHTS)
    rest = list(call.words)
    values = words("-u -g -h -p -C -r -t -T -U -D --user --group --prompt --chdir --role --host")
    while rest and (rest[0].text.startswith("-") or "=" in rest[0].text):
        flag = rest.pop(0).text
        value = rest.pop(0) if flag in values and rest else literal(flag.partition("=")[2])
        call.base = value if flag.startswith(("-D", "--chdir")) else call.base
    if call.name in {"sudo", "doas", "pkexec", "run0"}:
        call.run_words(rest)


_SETS_CLOCK = lazy_pattern(r"\d{8,12}(?:\.\d\d)?\Z")


def _date(call: Call) -> None:
    """Rate date: HIGH if a word with month, day, hour and minute sets the clock."""
    for before, word in pairwise([literal(""), *call.words]):
        if _SETS_CLOCK.match(word.text) and before.text not in {"-d", "--date", "-r", "-v", "-f"}:
            call.raise_to("HIGH", "sets the clock")


def _mount(call: Call) -> None:
    if call.words:
        call.raise_to("HIGH", MOUNTS)


def _hostname(call: Call) -> None:
    if any(not word.text.startswith("-") for word in call.words) or any(
        word.text in {"-F", "-b"} for word in call.words
    ):
        call.raise_to("HIGH", "changes the name of the machine")


def _sysctl(call: Call) -> None:
    sets = any("=" in word.text or word.text in {"-w", "-p", "--system"} for word in call.words)
    call.raise_to(*(("HIGH", "changes the kernel") if sets else ("LOW", "")))


_DESTROYS = "destroys a disk or a file system"
_FILE_SYSTEM = Spec("MEDIUM", "changes a file system", operands="text")
_zfs = subcommands(
    dict.fromkeys(words("list get version"), _READS)
    | dict.fromkeys(words("destroy rollback receive recv"), Spec("HIGH", _DESTROYS, operands="text")),
    _FILE_SYSTEM,
)
_BTRFS = lazy_pattern(r"s\w* d|f\w* resize|dev\w* (?:d|rem)|r\w* start|check .*--repair|rescue ")
"""Verbs of btrfs that change or destroy data; they may be abbreviated, as in `su de`."""


def _btrfs(call: Call) -> None:
    if _BTRFS.match(" ".join([*(word.text for word in call.words), ""])):
        call.raise_to("HIGH", _DESTROYS)
    call.apply(_FILE_SYSTEM)


RULES |= {
    "zfs": _zfs,
    "btrfs": _btrfs,
    **dict.fromkeys(words("sudo su doas pkexec run0 runuser sg newgrp setpriv capsh"), _as_other),
    **always(
        "HIGH",
        _DESTROYS,
        "mkfs mke2fs mkswap fdisk sfdisk parted gparted wipefs blkdiscard "
        "cryptsetup lvremove vgremove pvremove mdadm zpool hdparm sgdisk gdisk format diskutil "
        "swapoff swapon losetup",
    ),
    **always("HIGH", "stops or restarts the machine", "shutdown reboot halt poweroff init telinit pm-suspend kexec"),
    **always(
        "HIGH",
        "changes users or rights",
        "useradd userdel usermod groupadd groupdel groupmod adduser deluser passwd "
        "chpasswd visudo vipw chsh chfn gpasswd setcap setenforce aa-disable dscl",
    ),
    **always(
        "HIGH",
        "changes the network or the firewall",
        "iptables ip6tables nft ufw firewall-cmd pfctl ebtables networksetup tc iw wg",
    ),
    **always(
        "HIGH",
        "reads or changes stored secrets",
        "security secret-tool keyring kwallet-query keychain mimikatz gnome-keyring",
    ),
    **always(
        "HIGH",
        Reason("changes the kernel or the boot", Trait.RUNS),
        "insmod modprobe rmmod depmod grub-install update-grub efibootmgr bootctl update-initramfs bpftool kmod",
    ),
    **always(
        "HIGH", "changes firmware or the rights of files", "flashrom avrdude dfu-util bcdedit takeown icacls cacls"
    ),
    **always(
        "HIGH",
        READS_PROCESS,
        "gcore procdump pmap pstack",
    ),
    **always(
        "HIGH",
        Reason("reads what others type or show", Trait.READS),
        "xclip xsel pbpaste wl-paste screencapture scrot import xinput showkey logkeys gnome-screenshot",
    ),
    **dict.fromkeys(words("open xdg-open gnome-open start"), _opener),
    **always("MEDIUM", "opens a program", "sensible-browser notify-send say pbcopy wl-copy"),
    **dict.fromkeys(words("toolbox distrobox"), _acts(BY_SERVICE, "list")),
    **dict.fromkeys(words("multipass limactl lima orb orbctl colima"), _acts(BY_SERVICE, "list ls info version find")),
    "adb": _acts(BY_SERVICE, "devices version get-state logcat help", "-s -t -H -P"),
    "pueue": _acts(BY_SERVICE, "status log format-status"),
    **dict.fromkeys(words("tsp task-spooler"), _flagged(BY_SERVICE, "-l -h -V -i -c -t -o -s -p")),
    **dict.fromkeys(words("jupyter jupyter-console"), _changed_by(BY_SERVICE, "--existing")),
    **dict.fromkeys(("kill", "killall", "pkill", "killall5", "skill", "xkill"), _kill),
    "fuser": _fuser,
    **dict.fromkeys(("date", "gdate"), _date),
    "mount": _mount,
    "umount": _mount,
    "hostname": _hostname,
    "sysctl": _sysctl,
    "ldconfig": Spec("HIGH", Reason("changes which libraries are loaded", Trait.RUNS), operands="text"),
    "update-alternatives": Spec("HIGH", Reason("changes which programs are run", Trait.RUNS), operands="text"),
    "renice": Spec("MEDIUM", "changes how a process is served", operands="text"),
}
