"""Find the passages that a Latin text alludes to, and say why.

Attributes:
    __version__: The version of the installed package, such as `0.1.0`.

Example:
    >>> import allusion_es
    >>> allusion_es.__version__.count(".")
    2
"""

__version__: str


def __getattr__(name: str) -> str:
    """The value of `__version__`, looked up when it is first asked for.

    `importlib.metadata` takes longer to import than all that `allusion-es --help` needs.

    Raises:
        AttributeError: There is nothing of that name.
    """
    if name == "__version__":
        from importlib.metadata import version

        return version("allusion-es")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
