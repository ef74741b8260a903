"""What of the host's files the nodes get."""

from __future__ import annotations

import zipfile
from pathlib import Path

import pytest

from snakepit_bridge.boot.control_channel import StartFailed
from snakepit_bridge.cluster import sources
from snakepit_bridge.cluster.sources import Sources


def written(made: Sources, path: Path) -> list[str]:
    made.write(str(path))
    with zipfile.ZipFile(path) as archive:
        return [name for name in archive.namelist() if name.startswith("sources/")]


@pytest.fixture
def project(tmp_path: Path) -> Path:
    root = tmp_path / "project"
    for name in (
        "tools/tools.py",
        "tools/beside.py",
        "tools/data/big.bin",
        "tools/.git/config",
        "tools/__pycache__/tools.pyc",
        "tools/.env",
        "tools/.env.production",
        "tools/.ssh/id_ed25519",
        "tools/data/server.key",
        "library/one.py",
    ):
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(name)
    return root


def test_what_lies_beside_the_tools_goes_with_them(project: Path) -> None:
    made = Sources([{"file": str(project / "tools/tools.py"), "expose": ["a"]}], [], [])
    assert made.tools == [{"file": "sources/0/tools.py", "expose": ["a"]}]
    assert made.directory == "sources/0"
    assert written(made, project / "out.zip") == [
        "sources/0/beside.py",
        "sources/0/tools.py",
        "sources/0/data/big.bin",
    ]


def test_a_directory_within_another_goes_once(project: Path) -> None:
    made = Sources(
        [{"file": str(project / "tools/tools.py")}, {"module": "one"}],
        [str(project), str(project / "library")],
        ["*.bin", "out.zip"],
    )
    assert made.tools == [{"file": "sources/0/tools/tools.py"}, {"module": "one"}]
    assert made.tool_path == ["sources/0", "sources/0/library"]
    assert written(made, project / "out.zip") == [
        "sources/0/library/one.py",
        "sources/0/tools/beside.py",
        "sources/0/tools/tools.py",
    ]


@pytest.mark.parametrize("pattern", ["data", "data/", "/data", "data/*", "*.bin"])
def test_what_the_user_excludes_stays(project: Path, pattern: str) -> None:
    made = Sources([{"file": str(project / "tools/tools.py")}], [], [pattern])
    names = written(made, project / "out.zip")
    assert names == ["sources/0/beside.py", "sources/0/tools.py"]


def test_linked_directories_go_once(project: Path) -> None:
    (project / "tools/linked").symlink_to(project / "library")
    (project / "tools/linked-again").symlink_to(project / "tools")
    made = Sources([{"file": str(project / "tools/tools.py")}], [], ["data"])
    assert written(made, project / "out.zip") == [
        "sources/0/beside.py",
        "sources/0/tools.py",
        "sources/0/linked/one.py",
    ]


def test_the_bridge_itself_goes_to_every_node(tmp_path: Path) -> None:
    Sources([{"module": "tools"}], [], []).write(str(tmp_path / "out.zip"))
    with zipfile.ZipFile(tmp_path / "out.zip") as archive:
        names = archive.namelist()
    assert "snakepit_bridge/__main__.py" in names
    assert "snakepit_bridge/cluster/relay.py" in names


def test_the_same_files_are_the_same_archive(project: Path) -> None:
    made = Sources([{"file": str(project / "tools/tools.py")}], [], [])
    made.write(str(project / "a.zip"))
    (project / "tools/tools.py").touch()
    made.write(str(project / "b.zip"))
    assert (project / "a.zip").read_bytes() == (project / "b.zip").read_bytes()


def test_too_much_is_refused_with_what_to_do(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sources, "MOST_BYTES", 1 << 20)
    with open(project / "tools/data/big.bin", "wb") as file:
        file.truncate(2 << 20)
    made = Sources([{"file": str(project / "tools/tools.py")}], [], [])
    with pytest.raises(StartFailed) as caught:
        made.write(str(project / "out.zip"))
    assert caught.value.code == "TOOLS_TOO_LARGE"
    assert str(project / "tools") in caught.value.message
    assert "excludes" in caught.value.detail
