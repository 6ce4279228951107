"""`allusion-es kibana`: export or install the data views and the dashboard of candidates."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from allusion_es.cli.options import ApiKey, Name, Password, User, Wait
from allusion_es.retrieval.defaults import DEFAULTS

app = typer.Typer(
    help="Look at candidates in Kibana; they get there by 'allusion-es candidates push'.",
    no_args_is_help=True,
    rich_markup_mode=None,
)


@app.command("export")
def export(
    file: Annotated[
        str,
        typer.Argument(help="An .ndjson file to write, or - for stdout.", show_default=False),
    ],
    name: Name = DEFAULTS.name,
) -> None:
    """Write the saved objects, to be imported in Kibana 8.11 to 9.x by hand."""
    from allusion_es.core.errors import UsageError
    from allusion_es.core.files import writing
    from allusion_es.es.kibana.objects import as_lines, saved_objects

    if file != "-" and not file.endswith(".ndjson"):
        raise UsageError(f"{file}: Kibana imports only files whose names end in .ndjson")
    objects = saved_objects(name)
    lines = as_lines(objects)
    if file == "-":
        print(lines.decode(), end="")
        return
    with writing(Path(file)) as target:
        target.write(lines)
    print(f"{file}: {len(objects)} saved objects", file=sys.stderr)


@app.command("install")
def install(
    kibana: Annotated[
        str | None,
        typer.Option(
            "--kibana",
            metavar="URL",
            envvar="ALLUSION_KIBANA_URL",
            help="Where Kibana is, with its base path if it has one.",
            show_default=False,
        ),
    ] = None,
    space: Annotated[str, typer.Option(help="Kibana's space; the default one if empty.")] = "",
    name: Name = DEFAULTS.name,
    ca_certs: Annotated[
        Path | None,
        typer.Option(
            "--ca-certs",
            envvar="ALLUSION_KIBANA_CA_CERTS",
            help="CA certificates of Kibana.",
            show_default=False,
        ),
    ] = None,
    fingerprint: Annotated[
        str | None,
        typer.Option(
            "--fingerprint",
            envvar="ALLUSION_KIBANA_FINGERPRINT",
            help="SHA-256 fingerprint of Kibana's certificate.",
            show_default=False,
        ),
    ] = None,
    api_key: ApiKey = None,
    user: User = None,
    password: Password = None,
    wait: Wait = 0.0,
    timeout: Annotated[
        float, typer.Option(min=0.1, help="Seconds to wait for each answer.")
    ] = 60.0,
) -> None:
    """Put the saved objects into Kibana, and print the dashboard's address.

    What was installed before is overwritten, so it can be done again at any time.
    """
    from allusion_es.es.kibana.client import Kibana
    from allusion_es.es.kibana.objects import saved_objects

    objects = saved_objects(name)
    server = Kibana(
        kibana,
        ca_certs=str(ca_certs) if ca_certs else None,
        fingerprint=fingerprint,
        api_key=api_key,
        user=user,
        password=password,
        space=space,
        timeout=timeout,
    )
    done = server.install(objects, wait)
    version = f"Kibana {done.version}" if done.version else "Kibana"
    print(f"{done.objects} saved objects in {version} at {server.url}", file=sys.stderr)
    print(done.dashboard)
