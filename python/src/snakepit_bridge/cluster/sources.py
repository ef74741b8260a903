"""The files of this machine that workers on other nodes get, as one archive."""

from __future__ import annotations

import fnmatch
import os
import zipfile
from collections.abc import Iterator
from typing import Any

from snakepit_bridge.boot.control_channel import StartFailed

LEFT_OUT = frozenset(
    {".git", ".hg", ".svn", "node_modules", ".venv", "venv", "__pycache__"}
    | {".mypy_cache", ".pytest_cache", ".ruff_cache", ".tox", ".ipynb_checkpoints"}
)
# Names of files and directories with secrets: every node would get them, and the cluster
# keeps them.
SECRETS = (
    *(".env", ".env.*", ".envrc", "*.pem", "*.key", "*.p12", "*.pfx", "*.keystore"),
    *(".ssh", "id_rsa*", "id_dsa*", "id_ecdsa*", "id_ed25519*", ".gnupg", ".netrc"),
    *(".npmrc", ".pypirc", ".pgpass", ".git-credentials", ".htpasswd"),
    *(".aws", ".azure", ".config", ".docker", ".kube", "credentials.json"),
)
# The cluster's control store keeps it in memory.
MOST_BYTES = 100 << 20
# The same files are the same archive, which a node then has already.
ALWAYS = (2000, 1, 1, 0, 0, 0)
PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


class Sources:
    """The directories of the tools, and the bridge itself.

    Attributes:
        tools: As in the launch message, with paths in the archive.
        tool_path: As in the launch message, with paths in the archive.
        directory: Of the first file of tools, in the archive; empty if there is none.
    """

    def __init__(
        self, tools: list[dict[str, Any]], tool_path: list[str], excludes: list[str]
    ) -> None:
        """Reads nothing yet.

        Args:
            tools: Of the launch message.
            tool_path: Of the launch message.
            excludes: Patterns of names and of paths in a directory that are left out.
        """
        self._excludes = excludes
        files = [os.path.abspath(each["file"]) for each in tools if "file" in each]
        paths = [os.path.abspath(path) for path in tool_path]
        self._roots = _outermost([*map(os.path.dirname, files), *paths])
        self.tools = [
            {**each, "file": self._archive_path(each["file"])}
            if "file" in each
            else each
            for each in tools
        ]
        self.tool_path = [self._archive_path(path) for path in paths]
        self.directory = os.path.dirname(self._archive_path(files[0])) if files else ""

    def mapped(self, launch: dict[str, Any]) -> dict[str, Any]:
        """Returns the launch message of a worker with paths in the archive."""
        payload = {**launch["payload"], "tools": self.tools, "toolPath": self.tool_path}
        return {**launch, "payload": payload}

    def write(self, path: str) -> None:
        """Writes the archive.

        Raises:
            StartFailed: the directories have too much in them.
            OSError: a file cannot be read.
        """
        size = 0
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as out:
            for file in self._files(PACKAGE):
                _add(
                    out,
                    file,
                    os.path.join("snakepit_bridge", os.path.relpath(file, PACKAGE)),
                )
            for root in self._roots:
                for file in self._files(root):
                    size += os.path.getsize(file)
                    if size > MOST_BYTES:
                        raise self._too_large()
                    _add(out, file, self._archive_path(file))

    def _archive_path(self, path: str) -> str:
        """Returns the path in the archive."""
        path = os.path.abspath(path)
        for number, root in enumerate(self._roots):
            if path == root or path.startswith(os.path.join(root, "")):
                inside = os.path.relpath(path, root)
                return os.path.normpath(os.path.join("sources", str(number), inside))
        raise AssertionError(path)

    def _files(self, root: str) -> Iterator[str]:
        visited = set()
        for directory, names, files in os.walk(root, followlinks=True):
            if (real := os.path.realpath(directory)) in visited:
                # A link to a directory around it.
                names.clear()
                continue
            visited.add(real)
            names[:] = sorted(
                name for name in names if self._is_wanted(root, directory, name)
            )
            for name in sorted(files):
                path = os.path.join(directory, name)
                if self._is_wanted(root, directory, name) and os.path.isfile(path):
                    yield path

    def _is_wanted(self, root: str, directory: str, name: str) -> bool:
        if name in LEFT_OUT or name.endswith(".pyc"):
            return False
        if any(fnmatch.fnmatchcase(name, pattern) for pattern in SECRETS):
            return False
        inside = os.path.relpath(os.path.join(directory, name), root)
        return not any(
            fnmatch.fnmatch(name, pattern.rstrip("/"))
            or fnmatch.fnmatch(inside, pattern.strip("/"))
            for pattern in self._excludes
        )

    def _too_large(self) -> StartFailed:
        return StartFailed(
            "TOOLS_TOO_LARGE",
            f"the directories of the tools have more than {MOST_BYTES >> 20} MB, which "
            f"every node would get: {', '.join(self._roots)}",
            "Put the tools in a directory of their own, or leave files out with "
            'runtimeEnv: { excludes: ["data", "*.bin"] }. Large data belongs on a disk '
            "that the nodes share.",
        )


def _outermost(directories: list[str]) -> list[str]:
    """Returns those that are not inside another one, each once."""
    outermost: list[str] = []
    for directory in sorted(set(directories)):
        if not any(directory.startswith(os.path.join(root, "")) for root in outermost):
            outermost.append(directory)
    return outermost


def _add(archive: zipfile.ZipFile, file: str, path: str) -> None:
    info = zipfile.ZipInfo(path, ALWAYS)
    info.external_attr = (os.stat(file).st_mode & 0o777) << 16
    info.compress_type = zipfile.ZIP_DEFLATED
    with open(file, "rb") as source:
        archive.writestr(info, source.read())
