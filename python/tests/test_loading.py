"""What may be named as the tools."""

from __future__ import annotations

import subprocess
import sys
import textwrap
from pathlib import Path

import msgpack
import pytest

from snakepit_bridge.tools.loading import NoSource, load_file, load_module
from snakepit_bridge.tools.toolbox import Toolbox


def test_a_directory_is_told_what_to_name_instead(tmp_path: Path) -> None:
    with pytest.raises(ImportError, match=r"is a directory; name a \.py file in it"):
        load_file(str(tmp_path))


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(ImportError, match=r"there is no file .*/missing\.py"):
        load_file(str(tmp_path / "missing.py"))


def test_what_is_no_python_source_is_told_so(tmp_path: Path) -> None:
    path = tmp_path / "tools.txt"
    path.write_text("")
    with pytest.raises(ImportError, match="is not Python source"):
        load_file(str(path))


@pytest.mark.parametrize("name", ["no_such_package.tools", "json.no_such_part"])
def test_a_module_that_is_not_there_says_where_it_may_be(name: str) -> None:
    with pytest.raises(NoSource, match=r"No module named .*path.*toolPath"):
        load_module(name)


def test_what_a_module_itself_does_not_find_is_its_own_affair(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "imports_too_much.py").write_text("import no_such_library\n")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(ModuleNotFoundError) as caught:
        load_module("imports_too_much")
    assert caught.value.name == "no_such_library"


def test_a_file_of_a_package_is_to_be_named_as_a_module(tmp_path: Path) -> None:
    path = tmp_path / "part_of_a_package.py"
    path.write_text("from .other import x\n")
    with pytest.raises(NoSource, match=r"relative import.*\{ module, path \}"):
        load_file(str(path))


def ran(*files: Path, more: str = "") -> subprocess.CompletedProcess[str]:
    """Loads files in a process of its own, since what is imported stays."""
    program = (
        "import sys\nfrom snakepit_bridge.tools.loading import load_file\n"
        f"{more}\nfor path in sys.argv[1:]:\n    print(load_file(path).SAID)\n"
    )
    return subprocess.run(
        [sys.executable, "-c", program, *files],
        capture_output=True,
        text=True,
        check=False,
        cwd="/",
    )


def written(directory: Path, **sources: str) -> Path:
    """Writes modules; returns the path of `tools`."""
    directory.mkdir(exist_ok=True)
    for name, source in sources.items():
        (directory / f"{name}.py").write_text(source)
    return directory / "tools.py"


SAYS_HELPERS = "import helpers\nSAID = helpers.NAME"


@pytest.mark.parametrize(
    "second",
    [
        SAYS_HELPERS,
        "from helpers import of_two\nSAID = of_two",
        "SAID = 2\ndef late():\n    import helpers",
        "import through\nSAID = 2",
        "try:\n    from helpers.x import y\nexcept ImportError:\n    pass\nSAID = 2",
    ],
)
def test_a_second_file_with_a_neighbour_of_the_same_name_is_refused_and_both_are_named(
    tmp_path: Path, second: str
) -> None:
    one = written(tmp_path / "one", tools=SAYS_HELPERS, helpers="NAME = 1")
    two = written(
        tmp_path / "two", tools=second, helpers="of_two = 2", through="import helpers"
    )
    failed = ran(one, two)
    assert failed.stdout == "1\n"
    said = failed.stderr.splitlines()[-1]
    assert said.startswith("snakepit_bridge.tools.loading.NoSource: ")
    assert f"{two} imports helpers, which in this worker is {one.parent}/hel" in said
    assert f"and not {two.parent}/helpers.py" in said


def test_a_late_import_of_an_earlier_file_is_not_left_to_the_later_one(
    tmp_path: Path,
) -> None:
    one = written(
        tmp_path / "one",
        tools="SAID = 1\ndef late():\n    import helpers",
        helpers="",
    )
    two = written(tmp_path / "two", tools="SAID = 2", helpers="")
    failed = ran(one, two)
    assert (
        f"{one} imports helpers, which in this worker is {two.parent}" in failed.stderr
    )


def test_modules_of_two_directories_are_not_confused_either(tmp_path: Path) -> None:
    one = written(tmp_path / "one", first=SAYS_HELPERS, helpers="NAME = 1").parent
    two = written(tmp_path / "two", second=SAYS_HELPERS, helpers="NAME = 2").parent
    modules = f"""
from snakepit_bridge.tools.loading import load_module
sys.path[:0] = [{str(one)!r}, {str(two)!r}]
print([load_module(name).SAID for name in ("first", "second")])
"""
    failed = ran(more=modules)
    assert f"{two}/second.py imports helpers, which in this worker" in failed.stderr
    (two / "helpers.py").unlink()
    assert ran(more=modules).stdout == "[1, 1]\n"


def test_neighbours_of_the_same_name_that_are_not_confused_are_none_of_its_business(
    tmp_path: Path,
) -> None:
    typing = "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import helpers"
    one = written(tmp_path / "one", tools=SAYS_HELPERS, helpers="NAME = 1")
    two = written(tmp_path / "two", tools=f"{typing}\nSAID = 2", helpers="NAME = 2")
    three = written(tmp_path / "three", tools=SAYS_HELPERS)
    # The same file, wherever the link is.
    (three.parent / "helpers.py").symlink_to(one.parent / "helpers.py")
    four = written(tmp_path / "four", tools="import four_s\nSAID = 4", four_s="")
    done = ran(one, two, three, four)
    assert done.stderr == ""
    assert done.stdout.split() == ["1", "2", "1", "4"]


def test_a_neighbour_that_an_installed_module_hides_is_named(tmp_path: Path) -> None:
    one = written(tmp_path / "one", tools="import msgpack\nSAID = 1", msgpack="")
    failed = ran(one, more="import msgpack")
    assert (
        f"imports msgpack, which in this worker is {msgpack.__file__}" in failed.stderr
    )


def test_a_linked_file_sees_the_neighbours_of_its_target_and_then_those_of_the_link(
    tmp_path: Path,
) -> None:
    source = "import helpers, generated\nSAID = [helpers.NAME, generated.NAME]"
    target = written(tmp_path / "target", tools=source, helpers="NAME = 1")
    link = written(tmp_path / "link", helpers="NAME = 2", generated="NAME = 3")
    link.symlink_to(target)
    again = tmp_path / "again.py"
    again.symlink_to(link)
    assert ran(link).stdout == "[1, 3]\n"
    assert ran(link).stderr == ""
    # Of several links, as Python does it: the end.
    assert "No module named 'generated'" in ran(again).stderr


def test_files_of_one_name_are_modules_of_their_own(tmp_path: Path) -> None:
    files = [
        written(tmp_path / f"of_{n}", tools=f"import own_{n}\nSAID = __name__")
        for n in range(3)
    ]
    for n in range(3):
        written(tmp_path / f"of_{n}", **{f"own_{n}": ""})
    done = ran(*files)
    assert done.stderr == ""
    assert done.stdout.split() == [
        "tools",
        "snakepit_tools_tools",
        "snakepit_tools_tools_2",
    ]


def test_objects_beside_the_tools_are_not_looked_into(tmp_path: Path) -> None:
    file = tmp_path / "lazy_tools.py"
    file.write_text(
        textwrap.dedent(
            """
            from snakepit_bridge import tool

            class Lazy:
                @property
                def __class__(self):
                    raise RuntimeError("made too early")

                def __getattribute__(self, name):
                    raise RuntimeError(f"{name} was read")

            class Meta(type):
                @property
                def __dict__(cls):
                    raise RuntimeError("a class was looked into")

            class Odd(metaclass=Meta): ...

            settings = Lazy()

            @tool
            def one() -> int:
                return 1
            """
        )
    )
    assert list(Toolbox(load_file(str(file))).tools) == ["one"]
