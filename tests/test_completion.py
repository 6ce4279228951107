"""Completion in bash: the script that the program gives, and what it offers."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest
from processes import program

BASH = shutil.which("bash")

# What bash does when somebody presses the tab key after these words.
SCRIPT = r"""
eval "$(_ALLUSION_ES_COMPLETE=source_bash allusion-es)"
function=$(complete -p allusion-es | sed 's/.*-F \([^ ]*\) .*/\1/')
COMP_WORDS=("$@")
COMP_CWORD=$(($# - 1))
$function allusion-es
printf '%s\n' "${COMPREPLY[@]}"
"""


@pytest.mark.process
@pytest.mark.skipif(BASH is None, reason="there is no bash")
@pytest.mark.parametrize(
    ("words", "offered"),
    [
        ("eva", "evaluate"),
        ("query --fi", "--first-stage --field --fingerprint"),
        ("query --field ", "token lemma both"),
        ("gold ", "from-tei check convert fetch"),
        ("gold check --nu", "--numbering"),
        ("query --zz", ""),
    ],
)
def test_what_bash_offers(words: str, offered: str, tmp_path: Path) -> None:
    path = f"{Path(program()).parent}{os.pathsep}{os.environ['PATH']}"
    # A configuration file that is wrong is no concern of completion.
    (tmp_path / "allusion-es.toml").write_text("wrong")
    done = subprocess.run(
        [str(BASH), "-c", SCRIPT, "bash", "allusion-es", *words.split(" ")],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env={**os.environ, "PATH": path},
    )
    assert done.stderr == ""
    assert done.stdout.splitlines() == offered.split(" ")
