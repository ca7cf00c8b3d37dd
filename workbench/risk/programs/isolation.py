"""Rules for programs that run a command as a service, in a namespace or container, or under another root directory."""

from __future__ import annotations

from typing import Final

from workbench.risk.programs.rule import Rule, always, words, wrapper
from workbench.risk.reason import BY_SERVICE, LEAVES_SANDBOX, RUNS_UNSEEN

_UNIT: Final = (
    "-p --property -u --unit --description --slice --uid --gid --nice --working-directory -E --setenv -H --host -M "
    "--machine -C --capsule --service-type --on-active --on-boot --on-startup --on-unit-active --on-unit-inactive "
    "--on-calendar --path-property --socket-property --timer-property --background --job-mode"
)
_UNIT_SWITCHES: Final = (
    "--user --system --scope -r --remain-after-exit -t --pty -T --pty-late -P --pipe -q --quiet -G --collect --wait "
    "-S --shell -d --same-dir --no-block --send-sighup --no-ask-password --slice-inherit --expand-environment --verbose"
)
_MACHINE: Final = (
    "-D --directory -i --image -M --machine -u --user --chdir --template --oci-bundle --root-hash -S --slice "
    "--property --uuid -p --port --bind --bind-ro --tmpfs --overlay -E --setenv --capability --link-journal"
)
_NAMESPACE_SWITCHES: Final = (
    "-m -u -i -n -p -C -U -T -f -r -c -a -F -Z -e --mount --uts --ipc --net --pid --cgroup --user --time --fork "
    "--no-fork --map-root-user --map-current-user --map-auto --mount-proc --kill-child --keep-caps --all --env "
    "--preserve-credentials --follow-context --user-parent --join-cgroup"
)
"""Switches without a value in the next word: the value of a long switch follows `=`."""

RULES: dict[str, Rule] = {
    "systemd-run": wrapper(_UNIT, plain=_UNIT_SWITCHES, risk="HIGH", reason=BY_SERVICE),
    "systemd-nspawn": wrapper(_MACHINE, plain="-b --boot -q -x -a -n -U -P -j", risk="HIGH", reason=LEAVES_SANDBOX),
    "nsenter": wrapper(
        "-t --target -S --setuid -G --setgid", plain=_NAMESPACE_SWITCHES, risk="HIGH", reason=LEAVES_SANDBOX
    ),
    "unshare": wrapper(
        "-S --setuid -G --setgid -R --root -w --wd --propagation --setgroups --map-user --map-group",
        plain=_NAMESPACE_SWITCHES,
        risk="HIGH",
        reason=LEAVES_SANDBOX,
    ),
    "chroot": wrapper(skip=1, risk="HIGH", reason=LEAVES_SANDBOX),
    "firejail": wrapper(risk="HIGH", reason=LEAVES_SANDBOX),
    **always("HIGH", LEAVES_SANDBOX, "pivot_root bwrap runc crun ctr crictl debugfs proot"),
    "flatpak-spawn": wrapper(plain="--host --clear-env --watch-bus --sandbox", risk="HIGH", reason=BY_SERVICE),
    **dict.fromkeys(words("distrobox-host-exec host-spawn"), wrapper("-cwd -env", risk="HIGH", reason=BY_SERVICE)),
    "distrobox-enter": wrapper("-n --name -a", dashes=True, risk="HIGH", reason=BY_SERVICE),
    **dict.fromkeys(("wsl", "wsl.exe"), wrapper("-d -u --cd", plain="-e --exec", risk="HIGH", reason=BY_SERVICE)),
    **dict.fromkeys(words("criu gdbserver reptyr bpftrace"), wrapper("-p -c", risk="HIGH", reason=RUNS_UNSEEN)),
    **always("HIGH", RUNS_UNSEEN, "openvpn wg-quick"),
}
