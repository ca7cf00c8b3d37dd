"""Reading the user's secrets, the records of ohw, and what other programs know."""

from __future__ import annotations

import ctypes
import os
from pathlib import Path

from .attempt import LIBC, PLANTED, Impossible, World, check, escape, identity, open_descriptors, run, syscall


def _read(path: Path) -> str:
    return path.read_text(errors="replace")


@escape
def ssh_key(world: World) -> str:
    """~/.ssh/id_ed25519: the machines of the user."""
    return _read(world.home / ".ssh/id_ed25519")


@escape
def cloud_credentials(world: World) -> str:
    """~/.aws/credentials: the user's cloud."""
    return _read(world.home / ".aws/credentials")


@escape
def forge_token(world: World) -> str:
    """~/.config/gh/hosts.yml: the user's repositories."""
    return _read(world.home / ".config/gh/hosts.yml")


@escape
def git_credentials(world: World) -> str:
    """~/.git-credentials: passwords of git."""
    return _read(world.home / ".git-credentials")


@escape
def netrc(world: World) -> str:
    """~/.netrc: passwords for hosts."""
    return _read(world.home / ".netrc")


@escape
def package_token(world: World) -> str:
    """~/.npmrc: the right to publish packages."""
    return _read(world.home / ".npmrc")


@escape
def cluster_credentials(world: World) -> str:
    """~/.kube/config: the user's clusters."""
    return _read(world.home / ".kube/config")


@escape
def registry_credentials(world: World) -> str:
    """~/.docker/config.json: registries of images."""
    return _read(world.home / ".docker/config.json")


@escape
def private_keys(world: World) -> str:
    """~/.gnupg: the keys that sign and decrypt."""
    return _read(world.home / ".gnupg/private-keys-v1.d/key.key")


@escape
def browser_cookies(world: World) -> str:
    """A browser's profile: sessions of web sites."""
    return _read(world.home / ".mozilla/firefox/user.default/cookies.sqlite")


@escape
def other_browser(world: World) -> str:
    """The profile of another browser."""
    return _read(world.home / ".config/google-chrome/Default/Cookies")


@escape
def key_ring(world: World) -> str:
    """~/.local/share/keyrings: the passwords of the desktop."""
    return _read(world.home / ".local/share/keyrings/login.keyring")


@escape
def shell_history(world: World) -> str:
    """~/.bash_history, in which passwords are typed."""
    return _read(world.home / ".bash_history")


@escape
def own_settings(world: World) -> str:
    """The settings of ohw, with keys of models."""
    return _read(world.home / ".config/ohw/settings.toml")


@escape
def other_session(world: World) -> str:
    """Other sessions of ohw, with what was said and read there."""
    return _read(world.home / ".local/share/ohw/sessions/other/events.jsonl")


@escape
def own_state(world: World) -> str:
    """The state of ohw, such as the history of prompts."""
    return _read(world.home / ".local/state/ohw/prompt-history.jsonl")


@escape
def approve_itself(world: World) -> None:
    """The user's rules of ohw: the program would allow itself everything."""
    world.append(world.home / ".config/ohw/rules.toml")


@escape
def edit_other_session(world: World) -> None:
    """The record of another session."""
    world.append(world.home / ".local/share/ohw/sessions/other/events.jsonl")


@escape
def temporary_file_of_others(world: World) -> str:
    """What another program keeps in /tmp."""
    return _read(Path(world.facts["temporary"], "secret"))


@escape
def shared_memory_file(world: World) -> str:
    """What another program keeps in /dev/shm."""
    return _read(Path(world.facts["shm"], "secret"))


@escape
def runtime_file(world: World) -> str:
    """A file with a key in the runtime directory of the user."""
    return _read(Path(world.facts["runtime"], "secret"))


@escape
def secret_through_planted_link(world: World) -> str:
    """A secret, through a link of the repository."""
    return _read(world.workspace / "link-to-secrets/id_ed25519")


@escape
def secret_through_own_root(world: World) -> str:
    """A secret, through /proc/self/root."""
    return _read(Path(f"/proc/self/root{world.home}/.ssh/id_ed25519"))


@escape
def secret_through_other_roots(world: World) -> str:
    """A secret, through the root of each process that the program can see."""
    texts = []
    for root in Path("/proc").glob("[0-9]*/root"):
        try:
            texts.append(_read(Path(f"{root}{world.home}/.ssh/id_ed25519")))
        except OSError:
            continue
    return "".join(texts)


@escape
def secret_by_hard_link(world: World) -> str:
    """A secret, under a second name in the workspace."""
    link = world.workspace / f"link-{world.name}"
    os.link(world.home / ".ssh/id_ed25519", link)
    return _read(link)


@escape
def secret_by_rename(world: World) -> str:
    """A secret, after the directory above it has another name."""
    directory, moved = world.home / ".gnupg", world.home / f"moved-{world.name}"
    directory.rename(moved)
    try:
        return _read(moved / "private-keys-v1.d/key.key")
    finally:
        moved.rename(directory)


@escape
def secret_by_program_without_name(world: World) -> str:
    """A secret, read by a program that runs from memory (memfd and fexecve), which walls by path do not know."""
    descriptor = os.memfd_create("program", 0)
    os.write(descriptor, Path("/bin/cat").read_bytes())
    path = f"/proc/self/fd/{descriptor}"
    return run(path, str(world.home / ".ssh/id_ed25519"), pass_fds=(descriptor,))


@escape
def secret_by_handle(world: World) -> str:
    """A secret, by the handle of its inode (open_by_handle_at), past every mount over it."""
    if not world.facts["handle"]:
        raise Impossible("the file system has no handles")
    handle = bytes.fromhex(world.facts["handle"])
    mount = os.open(world.workspace, os.O_RDONLY)
    descriptor = check(LIBC.open_by_handle_at(mount, handle, os.O_RDONLY))
    return os.read(descriptor, 1000).decode()


@escape
def hidden_directory_writable(world: World) -> None:
    """The place of a hidden directory: a new key for ssh."""
    world.leave(world.home / ".ssh/config")


@escape
def moved_parent_of_hidden(world: World) -> None:
    """~/.config, above hidden directories, moved away and created anew."""
    directory, moved = world.home / ".config", world.home / f"moved-{world.name}"
    directory.rename(moved)
    directory.mkdir()
    world.leave(directory / world.name)
    directory.rename(world.home / f"replaced-{world.name}")
    moved.rename(directory)


@escape
def own_environment(world: World) -> str:
    """Keys in the environment of the program itself."""
    return "\n".join(value for value in os.environ.values() if PLANTED in value)


@escape
def other_environments(world: World) -> str:
    """Keys in the environment of each process that the program can see, its own wall included."""
    texts = []
    for path in Path("/proc").glob("[0-9]*/environ"):
        try:
            lines = path.read_bytes().decode(errors="replace").split("\0")
        except OSError:
            continue
        texts += [line for line in lines if PLANTED in line]
    return "\n".join(texts)


@escape
def other_command_lines(world: World) -> str:
    """Keys in the arguments of each process that the program can see."""
    texts = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            text = path.read_bytes().decode(errors="replace")
        except OSError:
            continue
        texts += [text] if PLANTED in text else []
    return "\n".join(texts)


@escape
def inherited_descriptors(world: World) -> str:
    """Files that the parent left open."""
    texts = []
    for name in open_descriptors():
        try:
            texts.append(os.pread(name, 200, 0).decode(errors="replace"))
        except OSError:
            continue
    return "\n".join(texts)


@escape
def inherited_directory(world: World) -> None:
    """A directory outside that the parent left open."""
    for name in open_descriptors():
        try:
            os.write(os.open(world.name, os.O_WRONLY, dir_fd=name), world.mark.encode())
        except OSError:
            continue


@escape
def password_file(world: World) -> str:
    """/etc/shadow: the passwords of all users."""
    return identity(os.open("/etc/shadow", os.O_RDONLY))


@escape
def secret_of_kernel_keyring(world: World) -> str:
    """A key that another program keeps in the kernel."""
    buffer = bytearray(200)
    keyctl, read = 250, 11
    address = (ctypes.c_char * len(buffer)).from_buffer(buffer)
    size = syscall(keyctl, read, world.number("key"), address, len(buffer), 0)
    return buffer[:size].decode()


@escape
def key_of_kernel_changed(world: World) -> None:
    """The same key, replaced."""
    keyctl, update = 250, 2
    syscall(keyctl, update, world.number("key_to_change"), world.mark.encode(), len(world.mark))


@escape
def key_of_kernel_added(world: World) -> None:
    """The keyring of the user, with a new key."""
    add_key, user_keyring = 248, -4
    syscall(add_key, b"user", f"walls-{world.name}".encode(), world.mark.encode(), len(world.mark), user_keyring)
