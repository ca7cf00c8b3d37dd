"""Tables of how Python functions use their arguments, by full name."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, Literal, NamedTuple, TypeAlias

from workbench.lazy_pattern import lazy_pattern
from workbench.risk.paths import words
from workbench.risk.reason import RUNS_URL, STARTS_SHELL, Reason, Trait

Kind: TypeAlias = Literal["read", "deep", "write", "keep", "move", "delete", "rmtree", "below", "link", "code", "url"]


class Use(NamedTuple):
    """How a function uses one argument, identified by position and name."""

    kind: Kind
    at: int
    name: str
    default: str = ""
    """The value used if the argument is not given."""


def _rows() -> Iterator[tuple[str, tuple[Use, ...]]]:
    for line in _FILES.strip().splitlines():
        how, _, names = line.partition("|")
        uses = tuple(_use(each) for each in how.split())
        for name in names.split():
            yield name, uses


def _use(text: str) -> Use:
    kind, position, name, *default = text.split(":")
    return Use(kind, int(position), name, *default)  # type: ignore[arg-type]


_FILES: Final = """
read:0:path:. | os.listdir os.scandir
read:0:top | os.walk
read:0:filename | linecache.getlines linecache.getline numpy.loadtxt numpy.genfromtxt configparser.ConfigParser().read
read:0:file | numpy.fromfile
read:0:fname | matplotlib.pyplot.imread
read:0:filepath_or_buffer | pandas.read_csv pandas.read_table
read:0:io | pandas.read_excel
read:0:path_or_buf | pandas.read_json
read:0:path | pandas.read_parquet pandas.read_feather pandas.read_html pandas.read_xml polars.read_csv polars.read_json
read:0:fp | PIL.Image.open
read:0:pathname | glob.glob glob.iglob
write:0:filename | logging.FileHandler logging.handlers.RotatingFileHandler shelve.open dbm.open
write:0:file | numpy.save numpy.savez numpy.savez_compressed dbm.open shelve.open dbm.dumb.open
write:0:fname | numpy.savetxt matplotlib.pyplot.savefig matplotlib.pyplot.imsave
write:0:path | os.truncate os.mkfifo os.mknod os.removexattr os.setxattr cv2.imwrite
keep:0:path | os.utime os.lchmod
keep:0:name | os.mkdir os.makedirs
write:1:filename | torch.save joblib.dump
write:1:dst read:0:src | shutil.copy shutil.copy2 shutil.copyfile shutil.copymode shutil.copystat
below:1:dst deep:0:src | shutil.copytree distutils.dir_util.copy_tree
move:0:src write:1:dst | shutil.move os.rename os.renames os.replace
link:0:src write:1:dst | os.symlink os.link
delete:0:path | os.remove os.unlink os.rmdir os.removedirs
rmtree:0:path | shutil.rmtree distutils.dir_util.remove_tree
below:1:extract_dir:. read:0:filename | shutil.unpack_archive
write:0:base_name deep:2:root_dir:. | shutil.make_archive
deep:0:dir | compileall.compile_dir
deep:0:source | zipapp.create_archive
below:0:path:. | zipfile.ZipFile().extractall tarfile.open().extractall tarfile.TarFile().extractall
below:1:path:. | zipfile.ZipFile().extract tarfile.open().extract tarfile.TarFile().extract
write:0:database | sqlite3.connect duckdb.connect
read:0:path | os.chdir
code:0:path_name | runpy.run_path
code:1:location | importlib.util.spec_from_file_location importlib.machinery.SourceFileLoader
code:0:path | importlib.machinery.FileFinder
url:0:url | requests.get requests.head requests.options httpx.get httpx.head httpx.options
url:0:url | requests.Session().get requests.session().get requests.Session().head httpx.Client().get
url:0:url | httpx.AsyncClient().get aiohttp.ClientSession().get urllib.request.urlopen urllib.request.Request
url:0:url | urllib.request.build_opener().open webbrowser.open
url:0:url write:1:filename | urllib.request.urlretrieve wget.download
write:9:filename | logging.basicConfig
"""
FILES: Final = dict(_rows())
OPENS: Final = {
    **dict.fromkeys(words("open io.open codecs.open gzip.open bz2.open lzma.open aiofiles.open"), 1),
    **dict.fromkeys(words("zipfile.ZipFile tarfile.open tarfile.TarFile h5py.File wave.open zipfile.PyZipFile"), 1),
    **dict.fromkeys(words("gzip.GzipFile bz2.BZ2File lzma.LZMAFile io.FileIO os.fdopen"), 1),
}
"""Functions that open a file, with the position of the mode argument."""

SHELLS: Final = words(
    "os.system os.popen subprocess.getoutput subprocess.getstatusoutput asyncio.create_subprocess_shell "
    "commands.getoutput pexpect.spawn pexpect.run pexpect.runu invoke.run fabric.run popen2.popen2 "
    "asyncio.subprocess.create_subprocess_shell"
)
"""Functions whose first argument is a command line."""
RUNS: Final = words(
    "subprocess.run subprocess.call subprocess.check_call subprocess.check_output subprocess.Popen trio.run_process "
    "anyio.run_process pty.spawn distutils.spawn.spawn setuptools._distutils.spawn.spawn"
)
"""Functions whose first argument is a command, as a list or a string."""
RUNS_WORDS: Final = words(
    "os.execl os.execle os.execlp os.execlpe os.execv os.execve os.execvp os.execvpe os.posix_spawn os.posix_spawnp "
    "asyncio.create_subprocess_exec asyncio.subprocess.create_subprocess_exec os.startfile"
)
WITHOUT_NAME: Final = words("asyncio.create_subprocess_exec asyncio.subprocess.create_subprocess_exec os.startfile")
"""Those of RUNS_WORDS whose first argument is both the program and the name that it gets."""
TAKES_LIST: Final = lazy_pattern(r"\.(?:exec|spawn)v\w*\Z|\.posix_spawnp?\Z")
"""Matches those of RUNS_WORDS and SPAWNS that take the arguments as a list."""
MANY_IN_ONE: Final = words("busybox toybox coreutils")
"""Programs that act as another program if called by its name."""
SPAWNS: Final = words("os.spawnl os.spawnle os.spawnlp os.spawnlpe os.spawnv os.spawnve os.spawnvp os.spawnvpe")

_CLIENTS: Final = words(
    "requests httpx requests.Session() requests.session() httpx.Client() httpx.AsyncClient() aiohttp.ClientSession()"
)
SENDS: Final = frozenset(f"{client}.{verb}" for client in _CLIENTS for verb in ("post", "put", "patch", "delete"))
ASKS_BY_METHOD: Final = words(
    "requests.request httpx.request httpx.stream requests.Session().request httpx.Client().request "
    "aiohttp.ClientSession().request urllib3.PoolManager().request urllib3.request aiohttp.request "
    "http.client.HTTPConnection().request http.client.HTTPSConnection().request httpx.AsyncClient().request"
)
"""Functions whose arguments are the HTTP method and then the URL."""

_CONNECTS = "connects to any host"
_RAW = Reason("uses Python internals that cannot be analyzed", Trait.RUNS)
_LOADS = Reason("unpickles data only known at run time, which may run code", Trait.RUNS | Trait.UNCERTAIN)
ALWAYS_HIGH: Final[dict[str, str]] = {
    **dict.fromkeys(words("os.fork os.forkpty"), "starts a process beside this one"),
    **dict.fromkeys(
        words("os.setuid os.setgid os.seteuid os.setreuid os.setresuid os.chroot os.setgroups"), "changes its rights"
    ),
    **dict.fromkeys(words("os.chown os.lchown shutil.chown os.fchown"), "changes who owns files"),
    **dict.fromkeys(words("os.kill os.killpg"), "ends programs that it did not start"),
    **dict.fromkeys(
        words("pickle.loads marshal.loads dill.loads cloudpickle.loads pickle.Unpickler jsonpickle.decode"), _LOADS
    ),
    **dict.fromkeys(
        words("yaml.unsafe_load yaml.full_load_all yaml.unsafe_load_all"),
        Reason("loads YAML that may run code", Trait.RUNS),
    ),
    **dict.fromkeys(
        words(
            "types.FunctionType types.CodeType types.LambdaType code.interact "
            "code.InteractiveConsole codeop.compile_command"
        ),
        Reason("builds code from values only known at run time", Trait.RUNS | Trait.UNCERTAIN),
    ),
    **dict.fromkeys(
        words("sys.addaudithook sys.settrace sys.setprofile gc.get_objects"),
        Reason("changes how all code runs", Trait.RUNS),
    ),
    **dict.fromkeys(
        words(
            "pkgutil.resolve_name pydoc.locate pydoc.safeimport unittest.mock._importer webbrowser.get "
            "webbrowser.GenericBrowser webbrowser.BackgroundBrowser pipes.Template multiprocessing.util.spawnv_passfds "
            "django.utils.module_loading.import_string werkzeug.utils.import_string"
        ),
        Reason("runs what a name means at run time", Trait.RUNS | Trait.UNCERTAIN),
    ),
    **dict.fromkeys(words("torch.hub.load torch.hub.load_state_dict_from_url"), RUNS_URL),
    **dict.fromkeys(words("site.addsitedir site.addpackage"), Reason("loads code from elsewhere", Trait.RUNS)),
    **dict.fromkeys(
        words("pip.main pip._internal.main pip._internal.cli.main.main"),
        Reason("installs packages", Trait.RUNS | Trait.DOWNLOADS),
    ),
}
ALWAYS_HIGH_PREFIXES: Final[dict[str, str]] = {
    **dict.fromkeys(
        words(
            "socket _socket telnetlib ftplib smtplib poplib imaplib nntplib xmlrpc paramiko fabric asyncssh websockets "
            "websocket scapy dns.resolver aiosmtplib pysftp ssl"
        ),
        _CONNECTS,
    ),
    **dict.fromkeys(words("http.server socketserver wsgiref.simple_server"), "opens a port to other machines"),
    **dict.fromkeys(words("ctypes cffi _ctypes _posixsubprocess _winapi winreg pyinjector"), _RAW),
    **dict.fromkeys(words("boto3 botocore google.cloud azure kubernetes docker"), "changes a service"),
    **dict.fromkeys(words("keyring secretstorage browser_cookie3"), "exposes secrets"),
    **dict.fromkeys(
        words("workbench.cli.main workbench.cli workbench.__main__"),
        Reason("changes what the workbench may do", Trait.RUNS),
    ),
    **dict.fromkeys(words("pynput pyautogui keyboard crontab"), Reason("acts in place of the user", Trait.RUNS)),
    **dict.fromkeys(words("pty"), STARTS_SHELL),
}
"""Modules whose functions are always HIGH, with the reason."""
HARMLESS: Final = words(
    "socket.gethostname socket.getfqdn socket.inet_aton socket.inet_ntoa socket.inet_pton socket.htons socket.ntohs "
    "ctypes.sizeof ctypes.Structure ctypes.c_int ctypes.c_char_p ctypes.c_double ctypes.c_void_p ctypes.byref "
    "ctypes.c_uint8 ctypes.c_uint32 ctypes.c_long ctypes.create_string_buffer ctypes.POINTER ctypes.c_float "
    "ssl.create_default_context ssl.SSLContext xmlrpc.client.dumps docker.errors.NotFound"
)
TAKES_MODULES: Final = words(
    "print dir help type hasattr getattr id isinstance issubclass vars repr str importlib.reload inspect.getsource "
    "inspect.getfile inspect.getmembers inspect.signature inspect.getdoc callable inspect.ismodule inspect.isbuiltin "
    "inspect.getsourcefile"
)
"""Functions that only inspect a module or function passed as an argument."""
LOADS_FILE: Final = words(
    "pickle.load joblib.load torch.load pandas.read_pickle dill.load cloudpickle.load marshal.load"
)
TRICKS: Final = words(
    "__globals__ __builtins__ __subclasses__ __loader__ f_globals f_builtins f_locals gi_frame cr_frame "
    "__getattribute__ __reduce_ex__ __code__ __closure__ tb_frame"
)
"""Attributes through which code reaches objects without naming them."""
