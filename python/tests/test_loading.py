"""What may be named as the tools."""

from __future__ import annotations

from pathlib import Path

import pytest

from snakepit_bridge.tools.loading import load_file


def test_a_directory_is_told_what_to_name_instead(tmp_path: Path) -> None:
    with pytest.raises(ImportError, match=r"is a directory; name a \.py file in it"):
        load_file(str(tmp_path))


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(ImportError, match=r"there is no file .*/missing\.py"):
        load_file(str(tmp_path / "missing.py"))


def test_what_is_no_python_source_is_told_so(tmp_path: Path) -> None:
    path = tmp_path / "tools.txt"
    path.write_text("")
    with pytest.raises(ImportError, match="is no Python source"):
        load_file(str(path))
