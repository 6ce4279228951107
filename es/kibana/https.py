"""One HTTP request and its answer, with the standard library; certificates are always checked."""

import hashlib
import hmac
import http.client
import json
import ssl
from dataclasses import dataclass
from urllib.parse import urlsplit

from allusion_es.core.errors import (
    AllusionError,
    ServerRefusedError,
    ServerUnavailableError,
    UsageError,
)
from allusion_es.es.address import Address
from allusion_es.es.connection import TooLargeError, read_whole
from allusion_es.es.errors import too_large_failure
from allusion_es.es.tls import needs_tls, speaks_http, tls_failure

_MOST_BYTES = 50_000_000


@dataclass(frozen=True, slots=True)
class Reply:
    """What a server answered.

    Attributes:
        status: HTTP status.
        media: Media type, "" where the server does not tell.
        body: The body's bytes.
        location: Where it sends the client, or "".
    """

    status: int
    media: str
    body: bytes
    location: str = ""

    def json(self) -> object:
        """The body as plain values; None where it is not JSON.

        Example:
            >>> Reply(200, "application/json", b'{"a": 1}').json()
            {'a': 1}
        """
        try:
            value: object = json.loads(self.body)
        except (ValueError, RecursionError):
            return None
        return value


def exchange(
    address: Address, method: str, path: str, data: bytes, headers: dict[str, str], timeout: float
) -> Reply:
    """Send a request to the address's only URL; redirections are not followed.

    Args:
        address: Where to; its login is not used.
        method: HTTP method.
        path: Below the URL's own path.
        data: The body; none where it is empty.
        headers: All headers but the host's and the length.
        timeout: Seconds to wait for the answer to begin, and then to end.

    Raises:
        UsageError: Certificates are given for a URL without TLS, or cannot be read.
        ServerUnavailableError: Nothing answers, or not in time.
        ServerRefusedError: The certificate is not trusted, what answers speaks no HTTP, or its
            answer has no end.
    """
    parts = urlsplit(address.urls[0])
    connection = _connection(address, parts.hostname or "", parts.port or 0, timeout)
    try:
        connection.connect()
        _check_fingerprint(connection, address)
        connection.request(method, parts.path + path, data or None, headers)
        answer = connection.getresponse()
        media = (answer.getheader("content-type") or "").split(";")[0].strip()
        body = read_whole(answer.read1, timeout, _MOST_BYTES)
        return Reply(answer.status, media, body, answer.getheader("location") or "")
    except (OSError, http.client.HTTPException) as error:
        raise _failure(error, address, timeout) from None
    except TooLargeError:
        raise too_large_failure(address.shown) from None
    finally:
        connection.close()


def _connection(
    address: Address, host: str, port: int, timeout: float
) -> http.client.HTTPConnection:
    if not address.urls[0].startswith("https:"):
        if address.ca_certs or address.fingerprint:
            raise UsageError(f"{address.shown}: certificates need a URL with https://")
        return http.client.HTTPConnection(host, port, timeout=timeout)
    try:
        context = ssl.create_default_context(cafile=address.ca_certs or None)
    except (OSError, ValueError) as error:
        raise UsageError(f"{address.ca_certs}: no certificates can be read ({error})") from None
    if address.fingerprint:
        # The one certificate is trusted, whoever signed it; it is compared before anything is sent.
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    return http.client.HTTPSConnection(host, port, timeout=timeout, context=context)


def _check_fingerprint(connection: http.client.HTTPConnection, address: Address) -> None:
    if not address.fingerprint:
        return
    assert isinstance(connection.sock, ssl.SSLSocket)
    certificate = connection.sock.getpeercert(binary_form=True) or b""
    if not hmac.compare_digest(hashlib.sha256(certificate).hexdigest(), address.fingerprint):
        raise ServerRefusedError(
            f"the certificate of {address.shown} has another fingerprint than the one given"
        )


def _failure(error: Exception, address: Address, timeout: float) -> AllusionError:
    url, asked = address.shown, address.urls[0]
    if isinstance(error, ssl.SSLError) or (asked.startswith("https:") and speaks_http(asked)):
        return tls_failure(error, asked, address.ca_certs, ("--ca-certs", "--fingerprint"))
    if failure := needs_tls(asked):
        return failure
    if isinstance(error, TimeoutError):
        return ServerUnavailableError(
            f"the server at {url} did not answer within {timeout:g} s; see whether it is "
            "overloaded, and try again"
        )
    if isinstance(error, OSError):
        reason = error.strerror or "the connection was closed"
        return ServerUnavailableError(f"no server answers at {url} ({reason}); check the URL")
    return ServerRefusedError(f"what answers at {url} does not speak HTTP; check the URL")
