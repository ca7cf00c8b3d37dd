"""Programs that change the machine, its users, services or processes, or act with the rights of others."""

from __future__ import annotations

import re
from itertools import pairwise

from workbench.risk.shell.call import Call, Spec
from workbench.risk.shell.tools.rule import Rule, always, subcommands, words
from workbench.risk.shell.words import literal

_LOOK = Spec(operands="text")
_AT_ONCE = frozenset(("-9", "-KILL", "-SIGKILL", "KILL", "SIGKILL", "--SIGNAL=KILL", "--SIGNAL=9", "--SIGNAL=SIGKILL"))


_ONE_PROGRAM = re.compile(
    r"""\"?(?:\$!|\$\((?:lsof\s+-t?i?t?\s*-?[ti]*\s*(?:tcp|udp)?:\d+|pgrep\s+(?:-f\s+)?[\w./'"-]+|pidof\s+[\w.-]+)\s*\))\"?\Z"""
)
"""What listens on a port, or is called so, as `killall` would end it."""


def _kill(call: Call) -> None:
    call.raise_to("MEDIUM", "ends processes")
    texts = [word.text for word in call.words]
    if texts in (["-l"], ["-L"]):
        return
    if (
        texts[-1:] in (["-1"], ["0"], ["1"])
        or "-u" in texts
        or any(not word.is_literal and not _ONE_PROGRAM.match(word.raw) for word in call.words)
    ):
        call.raise_to("HIGH", "ends processes that are not known before, or all of them")
    if any(_is_service(port) for word in call.words for port in _LISTENS.findall(word.raw)):
        call.raise_to("HIGH", "ends a service or a data base")
    if call.name in {"killall5", "skill", "xkill"}:
        call.raise_to("HIGH", "ends processes that are not known before, or all of them")
    by_pattern = call.name == "pkill" or not {"-r", "--regexp"}.isdisjoint(texts)
    if by_pattern and any(not text.strip(".*^$+") for text in texts):
        call.raise_to("HIGH", "ends every process")
    if call.name in {"killall", "pkill"} and _AT_ONCE & {text.upper() for text in texts}:
        call.raise_to("HIGH", "ends every process of that name, whatever it has not saved")


def _fuser(call: Call) -> None:
    """Who uses a file or a port; with `-k` they end, which for a port is what listens there."""
    call.raise_to("MEDIUM", "asks who uses a file")
    texts = [word.text for word in call.words]
    if any(text == "--kill" or _FUSER_KILLS.match(text) for text in texts):
        ports = all(_PORT.fullmatch(text) and not _is_service(text) for text in texts if not text.startswith("-"))
        call.raise_to("MEDIUM" if ports else "HIGH", "ends all processes that use it")


def _is_service(text: str) -> bool:
    """Whether a port is one where a service of the machine or a data base listens, and no server in development."""
    number = int(re.sub(r"\D", "", text) or 0)
    return 0 < number < 1024 or number in _DATA_BASES


_DATA_BASES = frozenset((1433, 1521, 2181, 3306, 5432, 5672, 6379, 6443, 7687, 8086, 9042, 9092, 9200, 11211, 27017))
_LISTENS = re.compile(r"lsof[^|;)]*:(\d+)")
_FUSER_KILLS = re.compile(r"-\w*k")
_PORT = re.compile(r"\d+(?:/(?:tcp|udp))?|tcp|udp")


def _as_other(call: Call) -> None:
    call.raise_to("HIGH", "acts with the rights of another user")
    rest = list(call.words)
    values = words("-u -g -h -p -C -r -t -T -U -D --user --group --prompt --chdir --role --host")
    while rest and (rest[0].text.startswith("-") or "=" in rest[0].text):
        flag = rest.pop(0).text
        if flag in values and rest:
            rest.pop(0)
    if call.name in {"sudo", "doas", "pkexec", "run0"}:
        call.run_words(rest)


_SETS_CLOCK = re.compile(r"\d{8,12}(?:\.\d\d)?\Z")


def _date(call: Call) -> None:
    """Month, day, hour and minute in one word set the clock."""
    for before, word in pairwise([literal(""), *call.words]):
        if _SETS_CLOCK.match(word.text) and before.text not in {"-d", "--date", "-r", "-v", "-f"}:
            call.raise_to("HIGH", "sets the clock")


def _mount(call: Call) -> None:
    if call.words:
        call.raise_to("HIGH", "changes what is mounted")


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
    dict.fromkeys(words("list get version"), _LOOK)
    | dict.fromkeys(words("destroy rollback receive recv"), Spec("HIGH", _DESTROYS, operands="text")),
    _FILE_SYSTEM,
)
_BTRFS = re.compile(r"s\w* d|f\w* resize|dev\w* (?:d|rem)|r\w* start|check .*--repair|rescue ")
"""Its verbs may be cut short: `su de`."""


def _btrfs(call: Call) -> None:
    if _BTRFS.match(" ".join([*(word.text for word in call.words), ""])):
        call.raise_to("HIGH", _DESTROYS)
    call.apply(_FILE_SYSTEM)


RULES: dict[str, Rule] = {
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
        "iptables ip6tables nft ufw firewall-cmd pfctl ebtables networksetup tc iw wg wg-quick openvpn",
    ),
    **always(
        "HIGH",
        "leaves its surroundings",
        "nsenter unshare chroot pivot_root bwrap firejail runc ctr crictl debugfs",
    ),
    **always(
        "HIGH",
        "reads or changes stored secrets",
        "security secret-tool keyring kwallet-query keychain mimikatz gnome-keyring",
    ),
    **always(
        "HIGH",
        "changes the kernel or the boot",
        "insmod modprobe rmmod depmod grub-install update-grub efibootmgr bootctl update-initramfs bpftool kmod",
    ),
    **always("HIGH", "reads the memory or surroundings of a process", "gcore gdbserver procdump pmap pstack"),
    **always(
        "HIGH",
        "reads what others type or show",
        "xclip xsel pbpaste wl-paste xdotool screencapture scrot import xinput showkey logkeys gnome-screenshot",
    ),
    **always(
        "MEDIUM", "opens a program", "open xdg-open gnome-open start sensible-browser notify-send say pbcopy wl-copy"
    ),
    **dict.fromkeys(("kill", "killall", "pkill", "killall5", "skill", "xkill"), _kill),
    "fuser": _fuser,
    **dict.fromkeys(("date", "gdate"), _date),
    "mount": _mount,
    "umount": _mount,
    "hostname": _hostname,
    "sysctl": _sysctl,
    "ldconfig": Spec("HIGH", "changes which libraries are loaded", operands="text"),
    "update-alternatives": Spec("HIGH", "changes which programs are run", operands="text"),
    "renice": Spec("MEDIUM", "changes how a process is served", operands="text"),
}
