"""The address of a server and the login for it, from arguments and environment variables."""

import base64
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import unquote, urlsplit

from allusion_es.core.errors import AllusionError, UsageError

URL = "ALLUSION_ES_URL"
CA_CERTS = "ALLUSION_ES_CA_CERTS"
FINGERPRINT = "ALLUSION_ES_FINGERPRINT"
API_KEY = "ALLUSION_ES_API_KEY"
USER = "ALLUSION_ES_USER"
PASSWORD = "ALLUSION_ES_PASSWORD"
FILE = "_FILE"
"""With this at its end, the variable of a secret names a file that holds it."""

# An https URL mostly is one of a proxy or a hosted cluster, and these listen on the usual port.
_HTTPS_PORT = 443
_FINGERPRINT = re.compile(r"[0-9a-f]{64}")


@dataclass(frozen=True, slots=True)
class Login:
    """An API key, or a user and a password; empty for servers without security.

    No secret is in its `repr`, so that none gets into a log or a traceback.
    """

    api_key: str = field(default="", repr=False)
    user: str = ""
    password: str = field(default="", repr=False)

    def __bool__(self) -> bool:
        """True if there is anything to log in with."""
        return bool(self.api_key or self.user or self.password)

    def header(self) -> dict[str, str]:
        """The HTTP header that logs in, or none."""
        if self.api_key:
            # Elasticsearch shows keys encoded, but also as id and secret, which it wants encoded.
            encoded = _encode(self.api_key) if ":" in self.api_key else self.api_key
            return {"authorization": f"ApiKey {encoded}"}
        if self.user:
            return {"authorization": f"Basic {_encode(f'{self.user}:{self.password}')}"}
        return {}

    def without_secrets(self, error: AllusionError) -> AllusionError:
        """An error without the secrets in its message: servers may repeat what they were sent.

        Example:
            >>> login = Login(user="me", password="s3cret")
            >>> login.without_secrets(AllusionError("no user me with s3cret"))
            AllusionError('no user me with ***')
        """
        header = self.header().get("authorization", "").partition(" ")[2]
        text = str(error)
        for secret in filter(None, (self.api_key, self.password, header)):
            text = text.replace(secret, "***")
        return type(error)(text)


@dataclass(frozen=True, slots=True)
class Address:
    """The URLs of a server, the login for it, and the certificates to trust.

    Attributes:
        urls: One URL or, for a cluster, several; without user and password.
        login: What to log in with.
        ca_certs: File with the certificates of the authorities to trust, or "".
        fingerprint: SHA-256 of the one certificate to trust, 64 hexadecimal digits, or "".
    """

    urls: tuple[str, ...]
    login: Login
    ca_certs: str = ""
    fingerprint: str = ""

    @property
    def shown(self) -> str:
        """The URLs for messages: with commas between, and without a login."""
        return ", ".join(self.urls)


def find_address(
    url: str | None = None,
    *,
    ca_certs: str | None = None,
    fingerprint: str | None = None,
    api_key: str | None = None,
    user: str | None = None,
    password: str | None = None,
    port: int = 9200,
    argument: str = "es",
    environment: Mapping[str, str] = os.environ,
) -> Address:
    """The address that arguments and environment variables give; arguments come first.

    Args:
        url: One URL or several with commas between; `ALLUSION_ES_URL`. The port is `port`, with
            https 443, if none is given. A user and password in it are taken out.
        ca_certs: `ALLUSION_ES_CA_CERTS`.
        fingerprint: `ALLUSION_ES_FINGERPRINT`; colons in it are left out.
        api_key: `ALLUSION_ES_API_KEY`, or the content of the file `ALLUSION_ES_API_KEY_FILE`.
        user: `ALLUSION_ES_USER`.
        password: `ALLUSION_ES_PASSWORD`, or the content of the file `ALLUSION_ES_PASSWORD_FILE`.
        port: Where servers of this kind listen.
        argument: What users call the URL.
        environment: Where to look the variables up.

    Raises:
        UsageError: There is no URL, or one of the values cannot be used.

    Example:
        >>> address = find_address("https://me:secret@es.example.org", environment={})
        >>> address.shown, address.login
        ('https://es.example.org:443', Login(user='me'))
    """
    text = url or environment.get(URL, "")
    parts = [part.strip() for part in text.split(",") if part.strip()]
    if not parts:
        raise UsageError(f"no Elasticsearch server is named; give its URL or set {URL}")
    cleaned = [_clean_url(part, port, argument) for part in parts]
    given = Login(api_key or "", user or "", password or "")
    login = given or next((found for _, found in cleaned if found), given)
    return Address(
        tuple(clean for clean, _ in cleaned),
        _completed(login, environment),
        _ca_certs(ca_certs or environment.get(CA_CERTS, "")),
        _fingerprint(fingerprint or environment.get(FINGERPRINT, "")),
    )


def _clean_url(text: str, default_port: int, argument: str) -> tuple[str, Login]:
    """A URL with a port and without user and password, and the login that these make."""
    text = text if "://" in text else f"http://{text}"
    try:
        parts = urlsplit(text)
        port = parts.port or {"http": default_port, "https": _HTTPS_PORT}.get(parts.scheme, 0)
    except ValueError:
        parts, port = urlsplit(""), 0
    host = parts.hostname or ""
    if not port or not re.fullmatch(r"[\w.:-]+", host) or parts.query or parts.fragment:
        # The text itself may hold a password, so it is not repeated.
        raise UsageError(
            f"the server's URL must look like http://localhost:{default_port}", argument=argument
        )
    host = f"[{host}]" if ":" in host else host
    login = Login("", unquote(parts.username or ""), unquote(parts.password or ""))
    return f"{parts.scheme}://{host}:{port}{parts.path.rstrip('/')}", login


def _completed(login: Login, environment: Mapping[str, str]) -> Login:
    """A login whose missing parts are filled in from the environment, and checked."""
    if not login.api_key:
        key = "" if login else _secret(API_KEY, environment)
        user = login.user or environment.get(USER, "")
        login = Login(key, user, login.password or _secret(PASSWORD, environment))
    if login.api_key and (login.user or login.password):
        raise UsageError("both an API key and a user or password are given; give one kind")
    if bool(login.user) != bool(login.password):
        missing = f"password ({PASSWORD})" if login.user else f"user ({USER})"
        raise UsageError(f"to log in on the server, give a {missing} too")
    if not re.fullmatch(r"[!-~]*", login.api_key):
        raise UsageError(f"the API key ({API_KEY}) has characters that no key has")
    return login


def _secret(variable: str, environment: Mapping[str, str]) -> str:
    """The value of a variable, or the first line of the file that `…_FILE` names."""
    path = environment.get(f"{variable}{FILE}", "")
    if variable in environment or not path:
        return environment.get(variable, "")
    try:
        lines = Path(path).read_text("utf-8").splitlines()
    except (OSError, ValueError):
        lines = []
    if not lines:
        raise UsageError(f"{path}: there is no secret to read ({variable}{FILE})")
    return lines[0]


def _ca_certs(path: str) -> str:
    if path and not Path(path).is_file():
        raise UsageError(
            f"{path}: there is no such certificate file ({CA_CERTS})", argument="ca_certs"
        )
    if path:
        import ssl

        try:
            ssl.create_default_context(cafile=path)
        except OSError as error:
            raise UsageError(
                f"{path}: there is no certificate in it that can be read ({CA_CERTS}); give a file "
                "in PEM form, which begins with -----BEGIN CERTIFICATE-----",
                argument="ca_certs",
            ) from error
    return path


def _fingerprint(text: str) -> str:
    digits = text.replace(":", "").lower()
    if digits and not _FINGERPRINT.fullmatch(digits):
        raise UsageError(
            f"a certificate's fingerprint ({FINGERPRINT}) is its SHA-256, 64 hexadecimal digits",
            argument="fingerprint",
        )
    return digits


def _encode(text: str) -> str:
    return base64.b64encode(text.encode()).decode("ascii")
