"""What the commands share that show a page."""

from allusion_es.core.errors import UsageError


def check_extra() -> None:
    """Make sure that what pages need is installed.

    Raises:
        UsageError: It is not; the message says how to install it.
    """
    try:
        import starlette  # noqa: F401
        import uvicorn  # noqa: F401
    except ImportError as error:
        raise UsageError(
            f"the page needs {error.name}; install it with: pip install 'allusion-es[serve]'"
        ) from error
