"""What the site gets at build time: pictures, drawn by scripts, and the help of the commands.

Every script in `examples/` and the one of `choosing.md` is run and leaves one picture of its own
name in the working folder. Pictures are kept in `build/docs`, under a digest of the script and the
package, so that only what has changed is drawn again.
"""

import hashlib
import logging
import os
import re
import subprocess
import sys
from pathlib import Path

from mkdocs.exceptions import PluginError
from mkdocs.structure.files import File
from typer.testing import CliRunner

ROOT = Path(__file__).parents[1]
PICTURES = {  # place in the site: script
    **{f"gallery/{path.stem}.png": path for path in sorted((ROOT / "examples").glob("*.py"))},
    "images/choosing.png": ROOT / "docs" / "_choosing.py",
}
HELP = re.compile(r"^<!-- help: (.*) -->$", re.MULTILINE)

log = logging.getLogger("mkdocs.hooks.forks")


def on_files(files, config):
    """Add the pictures to the site's files."""
    for place, script in PICTURES.items():
        files.append(File.generated(config, place, abs_src_path=str(_picture(script))))
    return files


def on_page_markdown(markdown, page, config, files):
    """Put the help of a command where a page asks for it."""
    return HELP.sub(lambda found: f"```text\n{_help(found[1])}\n```", markdown)


def _picture(script):
    """Give the picture of a script, drawn if there is none of this version."""
    folder = ROOT / "build" / "docs" / f"{script.stem}-{_digest(script)}"
    picture = folder / f"{script.stem.lstrip('_')}.png"
    if not picture.exists():
        log.info(f"Drawing {picture.name}")
        folder.mkdir(parents=True, exist_ok=True)
        run = subprocess.run(
            [sys.executable, str(script)],
            cwd=folder,
            env={**os.environ, "MPLBACKEND": "Agg"},
            capture_output=True,
            text=True,
        )
        if run.returncode:
            raise PluginError(f"{script.name} failed:\n{run.stderr}")
        if not picture.exists():
            raise PluginError(f"{script.name} has left no {picture.name}")
    return picture


def _digest(script):
    digest = hashlib.sha256(script.read_bytes())
    for path in sorted((ROOT / "src").rglob("*.py")):
        digest.update(path.read_bytes())
    return digest.hexdigest()[:12]


def _help(command):
    from forks.cli import main

    result = CliRunner().invoke(main, [*command.split(), "--help"], prog_name="forks")
    if result.exit_code:
        raise PluginError(f"forks {command} --help failed:\n{result.output}")
    return result.output.strip()
