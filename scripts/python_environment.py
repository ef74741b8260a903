"""Makes a virtual environment; does nothing when it is there and fresh.

Arguments: the environment's directory, a stamp that names what is in it, and
the arguments of `pip install`. Two callers may run at once: the second waits,
finds the stamp and leaves. The lock is the kernel's, so it dies with its holder.
"""

import fcntl
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


def main(directory: Path, stamp: str, requirements: list[str]) -> None:
    # Not an environment's own interpreter: it might be the one to be replaced.
    base = sys._base_executable
    stamp = f"{stamp} {sys.version} {os.path.realpath(base)}"
    python = directory / "bin" / "python"
    with unless_made(directory, stamp) as missing:
        if not missing:
            return
        print(f"Preparing {directory} with {base}", file=sys.stderr)
        uv = shutil.which("uv")
        if uv is not None:
            run([uv, "venv", "--clear", "--python", base, str(directory)])
            install = [uv, "pip", "install", "--python", str(python)]
        else:
            pip = shared_pip(base)
            run([base, "-m", "venv", "--clear", "--without-pip", str(directory)])
            install = [pip, "-m", "pip", "--python", str(python), "install"]
            install.append("--no-compile")
        run([*install, "--quiet", *requirements])
        # All but the tests of packages, which are half of some, and mypy and the libraries of Ray, which
        # no test uses. Their interpreters may be unable to keep what they compile
        # (PYTHONDONTWRITEBYTECODE).
        libraries = "mypyc?|ray/(air|data|llm|rllib|serve|train|tune)"
        skipped = ["-x", rf"/site-packages/(.*/tests?|{libraries})/"]
        compiling = [str(python), "-m", "compileall", "-qq", *skipped]
        subprocess.run([*compiling, str(directory / "lib")], check=False)


@contextmanager
def unless_made(directory: Path, stamp: str) -> Iterator[bool]:
    """Whether the environment has to be made; it is fresh when the block ends."""
    python = directory / "bin" / "python"
    record = directory / "snakepit-stamp"
    directory.parent.mkdir(parents=True, exist_ok=True)
    with open(f"{directory}.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if python.exists() and record.exists() and record.read_text() == stamp:
            yield False
            return
        yield True
        record.write_text(stamp)


def shared_pip(base: str) -> str:
    """An interpreter whose pip installs into every environment.

    Where Python lacks what makes it, Python says so, and which package of the system has it. To make one takes as long as most installs. The pip that comes with Python 3.10 to
    3.13 knows no --group.
    """
    directory = Path(__file__).resolve().parents[1] / "node_modules/.cache/python/pip"
    python = str(directory / "bin" / "python")
    stamp = f"{sys.version} {os.path.realpath(base)}"
    with unless_made(directory, stamp) as missing:
        if missing:
            run([base, "-m", "venv", "--clear", str(directory)])
            run([python, "-m", "pip", "install", "--quiet", "--upgrade", "pip>=25.1"])
    return python


def run(command: list[str]) -> None:
    environment = {**os.environ, "UV_PYTHON_DOWNLOADS": "never"}
    done = subprocess.run(command, check=False, stdout=sys.stderr, env=environment)
    if done.returncode != 0:
        sys.exit(f"This failed with {done.returncode}: {' '.join(command)}")


main(Path(sys.argv[1]), sys.argv[2], sys.argv[3:])
