"""The server behind a page: tokens of its URLs, its socket, and how it starts and ends."""

import contextlib
import hmac
import ipaddress
import os
import secrets
import socket
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING

from allusion_es.core.errors import StorageError, UsageError

if TYPE_CHECKING:
    from starlette.types import ASGIApp

_SECRET_BYTES = 32
_TOKEN_LENGTH = 32


def token_for(holder: str, place: str, secret: bytes) -> str:
    """The token in a holder's URL: 32 hexadecimal digits, derived from `secret`.

    It is the same when the server is started again, so that an open page still works.

    Args:
        holder: Name of the user whose URL it is.
        place: Name of the thing that the URL opens, such as the identifier of a store.
        secret: The secret of `read_secret`.
    """
    return hmac.new(secret, f"{place}\0{holder}".encode(), sha256).hexdigest()[:_TOKEN_LENGTH]


def read_secret(folder: Path) -> bytes:
    """Read the secret that tokens are derived from; it is made at random on first use.

    It lies outside the store, which people may pass on.

    Args:
        folder: The data folder.

    Raises:
        StorageError: It cannot be read or written.
    """
    path = folder / "annotate" / "secret"
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        if not path.exists():
            draft = path.with_name(f".secret.{secrets.token_hex(6)}.part")
            try:
                descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
                with os.fdopen(descriptor, "wb") as file:
                    file.write(secrets.token_bytes(_SECRET_BYTES))
                # Unlike a rename, a link leaves alone what another process made meanwhile.
                with contextlib.suppress(FileExistsError):
                    os.link(draft, path)
            finally:
                draft.unlink(missing_ok=True)
        secret = path.read_bytes()
    except OSError as error:
        raise StorageError(f"{path}: cannot be used ({error.strerror or error})") from error
    if len(secret) != _SECRET_BYTES:
        raise StorageError(f"{path}: damaged; delete it, and new URLs are made")
    return secret


def listen(host: str, port: int) -> socket.socket:
    """Open a socket that listens.

    Args:
        host: Address or name to listen on.
        port: Port, or 0 for any that is free.

    Raises:
        UsageError: The address cannot be used, or the port is in use.
    """
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
    except OSError as error:
        raise UsageError(
            f"no such address as {host} ({error.strerror or error})", argument="host"
        ) from error
    listener = socket.socket(family, kind, protocol)
    try:
        if os.name == "posix":  # elsewhere it would let two servers share a port
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(address)
        listener.listen(128)
    except OSError as error:
        listener.close()
        raise UsageError(
            f"port {port} on {host} cannot be used ({error.strerror or error}); choose another "
            "with --port, or 0 for any that is free"
        ) from error
    return listener


def address_of(listener: socket.socket, host: str) -> str:
    """The `host:port` for a URL; `localhost` if the socket listens on all addresses."""
    name, port = listener.getsockname()[:2]
    with contextlib.suppress(ValueError):
        everywhere = ipaddress.ip_address(name).is_unspecified
        host = "localhost" if everywhere else host
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def is_loopback(listener: socket.socket) -> bool:
    """True if only this machine can reach the socket."""
    return ipaddress.ip_address(listener.getsockname()[0].partition("%")[0]).is_loopback


def serve(
    app: "ASGIApp", listener: socket.socket, at_end: Callable[[], None] | None = None
) -> None:
    """Answer requests until the process is interrupted.

    Args:
        app: The application.
        listener: A socket of `listen`.
        at_end: Called at the interrupt, before the server waits for answers under way.

    Raises:
        KeyboardInterrupt: The process was interrupted.
    """
    import uvicorn

    class ClosingServer(uvicorn.Server):
        async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
            if at_end is not None:
                at_end()
            await super().shutdown(sockets)

    config = uvicorn.Config(
        app,
        http="h11",
        ws="none",
        lifespan="off",
        loop="asyncio",
        log_level="warning",
        # Requests name the token.
        access_log=False,
        server_header=False,
        timeout_graceful_shutdown=3,
    )
    ClosingServer(config).run(sockets=[listener])
