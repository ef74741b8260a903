"""What may be named as the tools."""

from __future__ import annotations

from pathlib import Path

import pytest

from snakepit_bridge.tools.loading import NoSource, load_file, load_module


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
