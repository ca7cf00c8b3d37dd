"""Rules for programs that make, list or check keys, certificates and signatures."""

from __future__ import annotations

from typing import Final

from workbench.risk.paths import within
from workbench.risk.programs.cloud import or_status
from workbench.risk.programs.rule import Rule, flag_names, words
from workbench.risk.reason import RUNS_PROGRAM, Reason, Trait
from workbench.risk.shell.call import Call, Spec, flags, uses
from workbench.risk.word import Word

_SECRET: Final = Spec(
    "HIGH",
    "creates or reads keys",
    operands="text",
    flags=flags(
        "HIGH",
        RUNS_PROGRAM,
        "-D -w --exec-path --photo-viewer --agent-program --dirmngr-program --keyboxd-program --gpgconf-file --options "
        "--load-extension --plugin -j --pinentry-program",
    ),
)
_SHOWS: Final = Reason("shows public keys, or checks signatures", Trait.READS)
_KEYGEN: Final = Spec(
    "MEDIUM", _SHOWS, values=words("-E -F -I -m -n -O -Y"), paths=uses("read", "-f -s"), operands="read"
)
_KEYGEN_SHOWS: Final = words("-l -B -L -F -Q -y -e -i -Y")
_KEYGEN_SWITCHES: Final = words("-f -E -H -v -q -m")
_CHECKS: Final = words("verify check-novalidate find-principals match-principals")


def _keygen(call: Call) -> None:
    """Rate ssh-keygen: MEDIUM if it only prints what is public in a file, or checks a signature, otherwise HIGH."""
    options, _ = call.options(_KEYGEN)
    names = flag_names(options)
    verbs = {option.value.text if option.value else "" for option in options if option.flag == "-Y"}
    own = _KEYGEN_SWITCHES | words("-I -n -s -O") if verbs else _KEYGEN_SWITCHES
    # `-H` alone rewrites the file of known hosts; with `-F` it only prints.
    hashes = "-H" in names and "-F" not in names
    shows = names & _KEYGEN_SHOWS and names <= _KEYGEN_SHOWS | own and verbs <= _CHECKS and not hashes
    call.apply(_KEYGEN if shows else _SECRET)


_GPG_LISTS: Final = words(
    "-k --list-keys --list-public-keys -K --list-secret-keys --fingerprint --list-sigs --list-signatures --check-sigs "
    "--check-signatures --list-config --list-gcrypt-config --dump-options"
)
_GPG_READS: Final = words("--verify --show-keys --list-packets --print-md --print-mds")
_GPG_SWITCHES: Final = words(
    "--with-colons --with-fingerprint --with-subkey-fingerprint --with-keygrip --with-secret --with-key-data "
    "--keyid-format --fixed-list-mode --batch --no-tty -q --quiet -v --verbose --no-auto-check-trustdb --status-fd "
    "--no-auto-key-retrieve --no-default-keyring --keyring --no-permission-warning --no-options"
)
_GPG_VALUES: Final = words("--keyid-format --status-fd --keyring")
_GPG: Final = Spec("MEDIUM", _SHOWS, operands="text", values=_GPG_VALUES)


def _gpg(call: Call) -> None:
    """Rate gpg: MEDIUM if it only lists public keys, checks a signature or prints checksums, otherwise HIGH."""
    options, operands = call.options(_GPG)
    names = flag_names(options)
    for word in (option.value for option in options if option.flag == "--keyring" and option.value):
        _open_keyring(call, word)
    reads = not names.isdisjoint(_GPG_READS)
    shows = (reads or not names.isdisjoint(_GPG_LISTS)) and names <= _GPG_LISTS | _GPG_READS | _GPG_SWITCHES
    call.apply(_GPG if shows else _SECRET)
    for word in operands if shows and reads else ():
        _read_public(call, word)


def _open_keyring(call: Call, word: Word) -> None:
    """Rate a file that gpg opens as a keyring, creating it if it does not exist."""
    path = call.scan.absolute(word) if "/" in word.text else None
    if path is not None and call.scan.context.protects(path):
        call.use(word, "write")


_OPENSSL: Final = Spec(
    "MEDIUM",
    "works on keys or certificates",
    operands="text",
    paths=uses("read", "-in -key -inkey") | uses("write", "-out -keyout"),
    flags=flags("HIGH", "connects to any host", "-connect"),
)
_OF_CERTIFICATES: Final = words("x509 crl req verify ocsp pkcs7")
_OF_KEYS: Final = words("rsa ec dsa pkey")
_PUBLIC_ONLY: Final = words("-in -inform -pubin -pubout -check -noout -modulus")
_PRINTS_CERTIFICATE: Final = words(
    "-in -inform -noout -text -subject -issuer -dates -startdate -enddate -serial -fingerprint -hash -subject_hash "
    "-issuer_hash -email -purpose -ocsp_uri -ocspid -pubkey -modulus -nameopt -certopt -dateopt -ext -alias -checkend "
    "-checkhost -checkemail -checkip -sha1 -sha256 -sha384 -sha512 -md5 -verify -crlnumber -lastupdate -nextupdate "
    "-print_certs -CAfile -untrusted -trusted -CApath -show_chain -nokeys"
)
_ENDINGS: Final = (".pem", ".crt", ".cer", ".cert", ".der", ".csr", ".crl", ".p7b", ".key", ".asc", ".gpg", ".sig")


def _openssl(call: Call) -> None:
    """Rate openssl; it prints only the public parts of a certificate, even from a file named like a key."""
    verb = call.words[0].text if call.words else ""
    names = {word.text for word in call.words[1:] if word.text.startswith("-")}
    is_public = verb in _OF_KEYS and names <= _PUBLIC_ONLY and not names.isdisjoint({"-pubout", "-noout"})
    if not is_public and not (verb in _OF_CERTIFICATES and names <= _PRINTS_CERTIFICATE):
        call.apply(_OPENSSL)
        return
    call.raise_to("MEDIUM", Reason("prints what is public of a key or certificate", Trait.READS))
    for word in (word for word in call.words[1:] if not word.text.startswith("-")):
        _read_public(call, word)


def _read_public(call: Call, word: Word) -> None:
    """Rate reading a file for what is public in it, so a file of the workspace may have the name of a key."""
    path, context = call.scan.absolute(word), call.scan.context
    if path is not None and word.text.endswith(_ENDINGS) and within(context.resolved(path), context.workspace):
        call.paths.append(path)
    else:
        call.use(word, "read")


def _agent(call: Call) -> None:
    """Rate ssh-add: MEDIUM if it lists the public keys of the agent, otherwise HIGH."""
    lists = [word.text for word in call.words] in (["-l"], ["-L"])
    call.raise_to(*(("MEDIUM", _SHOWS) if lists else ("HIGH", "creates or reads keys")))


def _pass(call: Call) -> None:
    """Rate pass: MEDIUM if it lists the names of passwords; with a name, `pass ls` prints that password."""
    lists = [word.text for word in call.words] in (["ls"], ["list"], ["version"])
    call.raise_to(*(("MEDIUM", "lists the names of passwords") if lists else ("HIGH", "creates or reads keys")))


RULES: dict[str, Rule] = {
    "ssh-keygen": _keygen,
    "ssh-add": _agent,
    **dict.fromkeys(words("gpg gpg2 gpgsm"), _gpg),
    "age": or_status(_SECRET),
    "pass": or_status(_pass),
    "openssl": _openssl,
}
