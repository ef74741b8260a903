"""Makes or updates a virtual environment; does nothing when it is fresh.

Arguments: the environment's directory, a stamp that names what is in it, and
the arguments of `pip install`. Two callers may run at once: the second waits,
finds the stamp and leaves. The lock is the kernel's, so it dies with its holder.
"""

import fcntl
import os
import shutil
import subprocess
import sys
from pathlib import Path

MINIMUM = (3, 10)


def main(directory: Path, stamp: str, requirements: list[str]) -> None:
    if sys.version_info < MINIMUM:
        sys.exit(f"Python {sys.version.split()[0]} is older than 3.10.")
    try:
        import ensurepip  # noqa: F401
        import venv  # noqa: F401
    except ImportError as error:
        version = f"{sys.version_info.major}.{sys.version_info.minor}"
        sys.exit(
            f"{sys.executable} cannot make virtual environments ({error}). "
            f"On Debian and Ubuntu: apt install python{version}-venv"
        )
    stamp = f"{stamp} {sys.version} {os.path.realpath(sys.executable)}"
    python = directory / "bin" / "python"
    record = directory / "snakepit-stamp"
    directory.parent.mkdir(parents=True, exist_ok=True)
    with open(f"{directory}.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if python.exists() and record.exists() and record.read_text() == stamp:
            return
        print(f"Preparing {directory} with {sys.executable}", file=sys.stderr)
        uv = shutil.which("uv")
        if uv is not None:
            make = [uv, "venv", "--allow-existing", "--python", sys.executable]
            install = [uv, "pip", "install", "--python", str(python)]
            run([*make, str(directory)])
        else:
            install = [
                str(python),
                "-m",
                "pip",
                "install",
                "--disable-pip-version-check",
            ]
            run([sys.executable, "-m", "venv", str(directory)])
            # The pip that comes with Python 3.10 to 3.13 knows no --group.
            run([*install, "--quiet", "--upgrade", "pip>=25.1"])
        run([*install, "--quiet", *requirements])
        record.write_text(stamp)


def run(command: list[str]) -> None:
    environment = {**os.environ, "UV_PYTHON_DOWNLOADS": "never"}
    done = subprocess.run(command, check=False, stdout=sys.stderr, env=environment)
    if done.returncode != 0:
        sys.exit(f"This failed with {done.returncode}: {' '.join(command)}")


main(Path(sys.argv[1]), sys.argv[2], sys.argv[3:])
