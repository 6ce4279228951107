"""A real Elasticsearch for tests and benchmarks, started from the jars on Maven Central.

    with running_server(8) as url:
        ...

It needs a JDK (17 for major 8, 21 for major 9) and Maven, and no container engine. The jars are
fetched once into the user's cache. It is a bare server: nearly every plug-in that a full one
has is missing, so whatever works here works on both.
"""

import os
import re
import shutil
import signal
import subprocess
import tempfile
import time
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from platformdirs import user_cache_path

VERSIONS = {8: "8.19.20", 9: "9.5.3"}
JAVA_NEEDED = {8: 17, 9: 21}
START_SECONDS = 120

_SOURCE = Path(__file__).parent / "java" / "StartNode.java"
_LOG = "server.log"
_NETTY = "transport-netty4"
_POM = """\
<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>allusion-es</groupId><artifactId>tests</artifactId><version>1</version>
  <packaging>pom</packaging>
  <dependencies>
    <dependency><groupId>org.elasticsearch</groupId>
      <artifactId>elasticsearch</artifactId><version>{version}</version></dependency>
    <dependency><groupId>org.elasticsearch.plugin</groupId>
      <artifactId>transport-netty4</artifactId><version>{version}</version></dependency>
  </dependencies>
</project>
"""
_LOGGING = """\
status = error
appender.console.type = Console
appender.console.name = console
appender.console.layout.type = PatternLayout
appender.console.layout.pattern = [%d{ISO8601}][%-5p][%c{1.}] %m%n
rootLogger.level = info
rootLogger.appenderRef.console.ref = console
"""


class CannotRunError(Exception):
    """This machine lacks what the server needs; the message says what."""


@dataclass
class Node:
    """One process of a cluster.

    Attributes:
        url: Its HTTP address, on loopback.
        transport: Its address for other nodes.
        process: The Java process.
        folder: Where it keeps its configuration, its data and its log.
        command: Starts it.
    """

    url: str
    transport: str
    process: subprocess.Popen[bytes]
    folder: Path
    command: list[str]

    @property
    def log(self) -> Path:
        """What it has written so far."""
        return self.folder / _LOG

    def kill(self) -> None:
        """End it at once, as a crash would."""
        self.process.kill()
        self.process.wait()
        if self.process.stdin:
            self.process.stdin.close()

    def restart(self, seeds: list[str]) -> None:
        """Start it again after `kill`, with its data and at its old addresses.

        Args:
            seeds: Transport addresses of nodes of its cluster.
        """
        path = self.folder / "config" / "elasticsearch.yml"
        lines = {
            "http.port": self.url.rpartition(":")[2],
            "transport.port": self.transport.rpartition(":")[2],
            "discovery.seed_hosts": f"[{', '.join(seeds)}]",
        }
        kept = [
            line
            for line in path.read_text("utf-8").splitlines()
            if line.partition(":")[0] not in lines
        ]
        written = [*kept, *(f"{name}: {value}" for name, value in lines.items())]
        path.write_text("\n".join(written) + "\n", encoding="utf-8")
        for kind in ("http", "transport"):
            (self.folder / "logs" / f"{kind}.ports").unlink(missing_ok=True)
        self.process = _started(self.command, self.folder)
        _wait_for_ports(self.folder, self.process)


@dataclass
class Cluster:
    """Nodes that form one cluster; `keep_logs` keeps their logs when they have ended."""

    nodes: list[Node] = field(default_factory=list)
    keep_logs: bool = False

    @property
    def urls(self) -> list[str]:
        """The HTTP address of each node."""
        return [node.url for node in self.nodes]


def java_home(major: int) -> Path:
    """The oldest JDK here that runs Elasticsearch `major`.

    Raises:
        CannotRunError: There is none.
    """
    homes = [Path(os.environ["JAVA_HOME"])] if os.environ.get("JAVA_HOME") else []
    homes += sorted(Path("/usr/lib/jvm").glob("*"))
    if on_path := shutil.which("java"):
        homes.append(Path(on_path).resolve().parent.parent)
    found = [(version, home) for home in homes if (version := _jdk_version(home))]
    fitting = [pair for pair in found if pair[0] >= JAVA_NEEDED[major]]
    if not fitting:
        raise CannotRunError(f"Elasticsearch {major} needs JDK {JAVA_NEEDED[major]} or newer")
    return min(fitting)[1]


def _jdk_version(home: Path) -> int:
    """Major version of the JDK in this folder, 0 where there is none."""
    release = home / "release"
    if not (home / "bin" / "javac").exists() or not release.exists():
        return 0
    match = re.search(r'JAVA_VERSION="(\d+)', release.read_text(encoding="utf-8"))
    return int(match[1]) if match else 0


def installed(major: int) -> Path:
    """The server's home folder, made first where it is not yet in the cache.

    Several processes may do this at once: each builds a folder of its own, and the first to
    finish moves it into place.

    Raises:
        CannotRunError: Without a JDK or Maven, or where the jars cannot be fetched.
    """
    java = java_home(major)
    version = VERSIONS[major]
    starter = f"{zlib.crc32(_SOURCE.read_bytes()):08x}"
    home = user_cache_path("allusion-es-tests") / f"elasticsearch-{version}-{starter}"
    if not home.exists():
        home.parent.mkdir(parents=True, exist_ok=True)
        building = Path(tempfile.mkdtemp(prefix=f".{home.name}-", dir=home.parent))
        try:
            _build_home(building, version, java)
            building.rename(home)
        except OSError:
            if not home.exists():
                raise
        finally:
            shutil.rmtree(building, ignore_errors=True)
    return home


def _build_home(home: Path, version: str, java: Path) -> None:
    maven = shutil.which("mvn")
    if maven is None:
        raise CannotRunError("Maven (mvn) is not installed; it fetches Elasticsearch's jars")
    (home / "pom.xml").write_text(_POM.format(version=version), encoding="utf-8")
    lib, module = home / "lib", home / "modules" / _NETTY
    _run([maven, "-B", "-q", "dependency:copy-dependencies", f"-DoutputDirectory={lib}"], home)
    module.mkdir(parents=True)
    for jar in [*lib.glob(f"{_NETTY}-*.jar"), *lib.glob("netty-*.jar")]:
        jar.rename(module / jar.name)
    with zipfile.ZipFile(module / f"{_NETTY}-{version}.jar") as archive:
        for name in ("plugin-descriptor.properties", "entitlement-policy.yaml"):
            text = archive.read(f"META-INF/es-plugins/{_NETTY}/{name}").decode("utf-8")
            # Its packages come from the class path here, not from a Java module.
            text = re.sub(r"^modulename=.*$", "", text, flags=re.MULTILINE)
            (module / name).write_text(text, encoding="utf-8")
    command = [str(java / "bin" / "javac"), "-cp", f"{lib}/*", "-d", str(home / "classes")]
    _run([*command, str(_SOURCE)], home)


def _run(command: list[str], folder: Path) -> None:
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode:
        lines = (done.stdout + done.stderr).strip().splitlines()
        reason = lines[0] if lines else f"exit status {done.returncode}"
        raise CannotRunError(f"{Path(command[0]).name} failed: {reason}")


@contextmanager
def running_server(major: int, **settings: str) -> Iterator[str]:
    """A server of this major on a free loopback port; yields its URL.

    Args:
        major: 8 or 9.
        settings: Lines for `elasticsearch.yml`, with `__` for the dots in their names.

    Raises:
        CannotRunError: This machine lacks what it needs.
        RuntimeError: It did not start; the message names its log.
    """
    with running_cluster(major, 1, **settings) as cluster:
        yield cluster.urls[0]


@contextmanager
def running_cluster(major: int, nodes: int, **settings: str) -> Iterator[Cluster]:
    """A cluster of so many nodes; see `running_server`."""
    home = installed(major)
    cluster = Cluster()
    with ExitStack() as stack:
        for number in range(1, nodes + 1):
            node = _running_node(home, major, number, cluster, settings)
            cluster.nodes.append(stack.enter_context(node))
        yield cluster


@contextmanager
def _running_node(
    home: Path, major: int, number: int, cluster: Cluster, settings: dict[str, str]
) -> Iterator[Node]:
    folder = Path(tempfile.mkdtemp(prefix=f"allusion-es-server{major}-"))
    _write_config(folder, number, [node.transport for node in cluster.nodes], settings)
    failed = True
    command = _command(home, major, folder, number)
    node = Node("", "", _started(command, folder), folder, command)
    try:
        node.url, node.transport = _wait_for_ports(folder, node.process)
        yield node
        failed = False
    finally:
        _stop(node.process)
        unwanted = folder / "data" if failed or cluster.keep_logs else folder
        shutil.rmtree(unwanted, ignore_errors=True)


def _started(command: list[str], folder: Path) -> subprocess.Popen[bytes]:
    with (folder / _LOG).open("ab") as log:
        return subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=log,
            stderr=subprocess.STDOUT,
            cwd=folder,
            # Ctrl-C reaches the tests only, which then stop the server in their own time.
            start_new_session=True,
        )


def _write_config(folder: Path, number: int, seeds: list[str], settings: dict[str, str]) -> None:
    config = folder / "config"
    config.mkdir()
    (folder / "logs").mkdir()
    lines = {
        "cluster.name": "allusion-es-tests",
        "node.name": f"node-{number}",
        "path.data": str(folder / "data"),
        "path.logs": str(folder / "logs"),
        "network.host": "127.0.0.1",
        "http.port": "0",
        "transport.port": "0",
        "node.portsfile": "true",
        "discovery.seed_hosts": f"[{', '.join(seeds)}]",
        # A nearly full disk of the machine is no concern of a test.
        "cluster.routing.allocation.disk.threshold_enabled": "false",
        "action.destructive_requires_name": "true",
    }
    if not seeds:
        lines["cluster.initial_master_nodes"] = "[node-1]"
    lines |= {name.replace("__", "."): value for name, value in settings.items()}
    text = "".join(f"{name}: {value}\n" for name, value in lines.items())
    (config / "elasticsearch.yml").write_text(text, encoding="utf-8")
    (config / "log4j2.properties").write_text(_LOGGING, encoding="utf-8")


def _command(home: Path, major: int, folder: Path, number: int) -> list[str]:
    java = str(java_home(major) / "bin" / "java")
    options = ["-Xms512m", "-Xmx512m", f"-Djava.io.tmpdir={folder}", "-XX:+UseG1GC"]
    if major >= 9:
        options += ["--add-modules", "jdk.incubator.vector", "--enable-native-access=ALL-UNNAMED"]
    classes = f"{home / 'classes'}{os.pathsep}{home / 'lib'}/*"
    arguments = [str(home), str(folder / "config"), f"node-{number}"]
    return [java, *options, "-cp", classes, "StartNode", *arguments]


def _wait_for_ports(folder: Path, process: subprocess.Popen[bytes]) -> tuple[str, str]:
    """HTTP and transport addresses, once the node has written them down."""
    log = folder / _LOG
    give_up = time.monotonic() + START_SECONDS
    while time.monotonic() < give_up:
        http, transport = _port(folder, "http"), _port(folder, "transport")
        if http and transport:
            return f"http://{http}", transport
        if process.poll() is not None:
            lines = log.read_text(encoding="utf-8", errors="replace").splitlines()
            raise RuntimeError("\n".join([f"Elasticsearch ended; see {log}", *lines[-20:]]))
        time.sleep(0.1)
    raise RuntimeError(f"Elasticsearch did not start in {START_SECONDS} s; see {log}")


def _port(folder: Path, name: str) -> str:
    """The first address of a ports file, "" while there is none."""
    path = folder / "logs" / f"{name}.ports"
    lines = path.read_text(encoding="utf-8").split() if path.exists() else []
    return lines[0] if lines else ""


def _stop(process: subprocess.Popen[bytes]) -> None:
    if process.stdin:
        process.stdin.close()
    if process.poll() is None:
        process.send_signal(signal.SIGTERM)
    try:
        process.wait(timeout=20)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
