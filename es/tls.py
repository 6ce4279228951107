"""Why a server cannot be talked to over TLS, or only over TLS, and what to do about it."""

import socket
import ssl
from collections.abc import Iterable, Iterator
from urllib.parse import urlsplit

from allusion_es.core.errors import ServerRefusedError

_PROBE_SECONDS = 3.0
"""A probe only improves a message, so it may not take long."""

_MOST_NAMES = 5

# Codes of `X509_verify_cert`, in OpenSSL's `x509_vfy.h`; the texts are for a library that hands
# on the message alone.
_EXPIRED = (10, "certificate has expired")
_EARLY = (9, "certificate is not yet valid")
_OWN = (18, "self-signed certificate (", "self signed certificate (")
_HOST = (62, "hostname mismatch", "doesn't match", "not valid for")
_ADDRESS = (64, "ip address mismatch")


def tls_failure(
    error: BaseException, url: str, ca_certs: str | None, options: tuple[str, str]
) -> ServerRefusedError:
    """The error for a TLS handshake that failed, with its cause and what to do.

    Args:
        error: What the library raised; what lies behind it is looked at too.
        url: The server's URL, without a login.
        ca_certs: The file of authorities that was given, if any.
        options: How the user names such a file, and a fingerprint.
    """
    authority, fingerprint = options
    told = " ".join(str(each) for each in causes(error)).lower()
    verified = next(
        (each for each in causes(error) if isinstance(each, ssl.SSLCertVerificationError)), None
    )
    code = getattr(verified, "verify_code", 0)

    def means(kind: tuple[int | str, ...]) -> bool:
        return code == kind[0] or any(str(text) in told for text in kind[1:])

    certificate = f"the certificate of {url}"
    if "fingerprint" in told:
        return ServerRefusedError(
            f"{certificate} is not trusted: it has another fingerprint than the one given "
            f"({fingerprint}); compare it with the certificate on the server, which may have been "
            "renewed"
        )
    if means(_HOST) or means(_ADDRESS):
        host = urlsplit(url).hostname or url
        names = _names(url, ca_certs)
        for_whom = f"is for {', '.join(names)}, not for {host}" if names else f"is not for {host}"
        return ServerRefusedError(
            f"{certificate} {for_whom}; give the URL with a name that it is for, or trust this one "
            f"certificate by its SHA-256 fingerprint ({fingerprint})"
        )
    if means(_EXPIRED):
        return ServerRefusedError(
            f"{certificate} has expired; renew it on the server, or set this machine's clock if it "
            "is wrong"
        )
    if means(_EARLY):
        return ServerRefusedError(
            f"{certificate} is not valid yet; set the clock of this machine, or of the server"
        )
    if verified is not None or "certificate verify failed" in told:
        why = (
            "it is signed by itself"
            if means(_OWN)
            else "it is signed by an authority that is not among those"
            if ca_certs
            else "this machine does not know who signed it"
        )
        return ServerRefusedError(
            f"{certificate} is not trusted; name its authority's file ({authority}) or its SHA-256 "
            f"fingerprint ({fingerprint}): {why}"
        )
    if "certificate required" in told or "certificate_required" in told:
        return ServerRefusedError(
            f"{url} asks for a certificate of the client, which this program cannot give; let the "
            "server do without it and use a login"
        )
    if "wrong_version_number" in told or "http_request" in told or speaks_http(url):
        return ServerRefusedError(f"{url} does not speak TLS; give its URL with http://")
    reason = next((str(each) for each in causes(error) if isinstance(each, ssl.SSLError)), told)
    return ServerRefusedError(
        f"the TLS handshake with {url} failed ({' '.join(reason.split())[:200]}); see to it that "
        "the server speaks TLS 1.2 or 1.3 there"
    )


def failing(urls: Iterable[str], ca_certs: str | None) -> tuple[str, OSError] | None:
    """The first URL with `https://` whose server's certificate is refused, and why; or None.

    Of a cluster's nodes a library does not say which it could not talk to.
    """
    for url in urls:
        try:
            context = ssl.create_default_context(cafile=ca_certs or None)
            host = urlsplit(url).hostname
            with _connected(url) as raw, context.wrap_socket(raw, server_hostname=host):
                pass
        except ssl.SSLError as error:
            error.__context__ = None  # that of another node, which is being handled
            return url, error
        except (OSError, ValueError):
            continue
    return None


def needs_tls(url: str) -> ServerRefusedError | None:
    """The error for an `http://` URL whose server speaks TLS; None if it does not.

    Asked only after a request has failed. No certificate is checked, since nothing is sent.
    """
    parts = urlsplit(url)
    if parts.scheme != "http":
        return None
    context = ssl.create_default_context()
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    try:
        with _connected(url) as raw, context.wrap_socket(raw, server_hostname=parts.hostname):
            pass
    except ssl.SSLError as error:
        # A server that speaks TLS may want more of the client than an empty greeting.
        if error.reason is None or "ALERT" not in error.reason:
            return None
    except (OSError, ValueError):
        return None
    return ServerRefusedError(f"{url} speaks TLS; give its URL with https://")


def speaks_http(url: str) -> bool:
    """Whether what answers at a URL speaks HTTP without TLS, whatever the URL says."""
    try:
        with _connected(url) as raw:
            raw.sendall(b"HEAD / HTTP/1.0\r\n\r\n")
            return raw.recv(5) == b"HTTP/"
    except (OSError, ValueError):
        return False


def causes(error: BaseException) -> Iterator[BaseException]:
    """An error, and all that libraries have wrapped in it."""
    waiting: list[object] = [error]
    seen: set[int] = set()
    while waiting:
        each = waiting.pop(0)
        if not isinstance(each, BaseException) or id(each) in seen:
            continue
        seen.add(id(each))
        yield each
        waiting += (each.__cause__, each.__context__, getattr(each, "reason", None))
        waiting += (*getattr(each, "errors", ()), *each.args)


def _names(url: str, ca_certs: str | None) -> list[str]:
    """The names that a server's certificate is for; none where it is not trusted otherwise."""
    try:
        context = ssl.create_default_context(cafile=ca_certs or None)
        context.check_hostname = False
        with _connected(url) as raw, context.wrap_socket(raw) as secured:
            certificate = secured.getpeercert() or {}
    except (OSError, ValueError):
        return []
    alternatives = certificate.get("subjectAltName", ())
    names = [str(pair[-1]) for pair in alternatives if isinstance(pair, tuple)]
    clean = [name[:80] for name in names if name.isprintable()]
    return clean[:_MOST_NAMES] + ["…"] * (len(clean) > _MOST_NAMES)


def _connected(url: str) -> socket.socket:
    parts = urlsplit(url)
    port = parts.port or (443 if parts.scheme == "https" else 80)
    return socket.create_connection((parts.hostname or "", port), _PROBE_SECONDS)
