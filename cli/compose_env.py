"""`allusion-es compose-env`: passwords for `docker compose up`."""

import os
import sys
from pathlib import Path
from typing import Annotated

import typer

from allusion_es.core.errors import UsageError
from allusion_es.core.files import writing

_TEXT = """\
# Made by 'allusion-es compose-env' for docker-compose.yml. Keep it to yourself.
# 'docker compose' reads it by itself; for 'allusion-es' say: set -a; . ./{name}; set +a
ELASTIC_PASSWORD={elastic}
KIBANA_PASSWORD={kibana}
KIBANA_ENCRYPTION_KEY={key}
ALLUSION_ES_URL=http://localhost:9200
ALLUSION_ES_USER=elastic
ALLUSION_ES_PASSWORD={elastic}
ALLUSION_KIBANA_URL=http://localhost:5601
"""


def compose_env(
    out: Annotated[Path, typer.Option(help="The file to write.")] = Path(".env"),
    force: Annotated[
        bool, typer.Option("--force", help="Replace a file that is there already.")
    ] = False,
) -> None:
    """Make passwords for the Elasticsearch and Kibana of docker-compose.yml."""
    import secrets  # takes some milliseconds, which no `--help` should

    if not force and (out.exists() or out.is_symlink()):
        raise UsageError(
            f"{out}: there is such a file already, and what is running has its passwords; use it, "
            "or replace it with --force"
        )
    # Hexadecimal digits mean the same to a shell, to Compose and in a URL.
    text = _TEXT.format(
        name=out.name,
        elastic=secrets.token_hex(16),
        kibana=secrets.token_hex(16),
        key=secrets.token_hex(32),
    )
    with writing(out) as file:
        # Before the passwords are in the file; `writing` renames it, which keeps its mode.
        os.chmod(file.name, 0o600)
        file.write(text.encode())
    print(f"{out}: new passwords; now run 'docker compose up --wait'", file=sys.stderr)
    if force:
        print(
            "note: a server that has run before keeps its old passwords; 'docker compose down "
            "--volumes' deletes it with its data",
            file=sys.stderr,
        )
