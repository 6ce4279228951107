"""Servers with TLS on loopback, and certificates with one fault each."""

import shutil
import socket
import ssl
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest


@dataclass(frozen=True)
class Certificates:
    """Files of certificates with their keys, and of the authority that signed most of them.

    Attributes:
        folder: Where `NAME.pem` and `NAME.key` lie.
        authority: The authority's own certificate.
    """

    folder: Path
    authority: Path

    def context(self, name: str) -> ssl.SSLContext:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(self.folder / f"{name}.pem", self.folder / f"{name}.key")
        return context


_DATES = {"good": (0, 2), "elsewhere": (0, 2), "expired": (-9, -3), "early": (3, 9)}


def make_certificates(folder: Path) -> Certificates:
    """Certificates for loopback, one for another host, and two out of their time."""
    openssl = shutil.which("openssl")
    if openssl is None:
        pytest.skip("openssl is not installed")

    def do(*arguments: object) -> None:
        command = [openssl, *map(str, arguments)]
        subprocess.run(command, check=True, capture_output=True, cwd=folder)

    new = ("req", "-newkey", "rsa:2048", "-nodes", "-sha256")
    do(*new, "-x509", "-days", 9, "-subj", "/CN=authority", "-keyout", "ca.key", "-out", "ca.pem",
       "-addext", "keyUsage=critical,keyCertSign")  # fmt: skip
    config = folder / "ca.cnf"
    (folder / "issued").mkdir()
    (folder / "index.txt").touch()
    config.write_text(
        "[ca]\ndefault_ca=own\n[own]\nnew_certs_dir=issued\ndatabase=index.txt\nserial=serial\n"
        "default_md=sha256\npolicy=any\ncopy_extensions=copy\nunique_subject=no\n"
        "certificate=ca.pem\nprivate_key=ca.key\n[any]\ncommonName=supplied\n"
    )
    from datetime import UTC, datetime, timedelta

    for name, days in _DATES.items():
        host = "DNS:es01.example.org,DNS:es02.example.org" if name == "elsewhere" else (
            "IP:127.0.0.1,DNS:localhost"
        )  # fmt: skip
        do(*new, "-subj", f"/CN={name}", "-keyout", f"{name}.key", "-out", f"{name}.csr",
           "-addext", f"subjectAltName={host}")  # fmt: skip
        start, end = (
            (datetime.now(UTC) + timedelta(days=day)).strftime("%Y%m%d%H%M%SZ") for day in days
        )
        if days[0] == 0:
            start = (datetime.now(UTC) - timedelta(hours=1)).strftime("%Y%m%d%H%M%SZ")
        do("ca", "-batch", "-config", config, "-rand_serial", "-startdate", start, "-enddate", end,
           "-in", f"{name}.csr", "-out", f"{name}.pem", "-notext")  # fmt: skip
    do(*new, "-x509", "-days", 9, "-subj", "/CN=own", "-keyout", "own.key", "-out", "own.pem",
       "-addext", "subjectAltName=IP:127.0.0.1")  # fmt: skip
    return Certificates(folder, folder / "ca.pem")


@contextmanager
def answering(context: ssl.SSLContext | None, answer: bytes = b"") -> Iterator[str]:
    """A server that reads a request, answers with these bytes and closes; yields `host:port`.

    One with TLS closes without a word where no TLS is spoken, as Elasticsearch does.
    """
    listener = socket.create_server(("127.0.0.1", 0))

    def serve() -> None:
        while True:
            try:
                raw, _ = listener.accept()
            except OSError:
                return
            raw.settimeout(5)
            try:
                with context.wrap_socket(raw, server_side=True) if context else raw as peer:
                    peer.recv(65536)
                    peer.sendall(answer)
            except OSError:
                pass
            raw.close()

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    try:
        yield f"127.0.0.1:{listener.getsockname()[1]}"
    finally:
        listener.shutdown(socket.SHUT_RDWR)
        listener.close()
        thread.join(10)
