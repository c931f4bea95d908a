"""Shared by the architecture tests: the tree, and copies of it in which a violation can be planted."""

import ast
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = ("bot", "host", "models", "servers")
RULED = (*PACKAGES, "pyproject.toml", "deskhand.toml")


class Tree:
    """A root with our packages under it. `parsed` gives (path from the root, syntax tree) of every module of `packages`."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def parsed(self, *packages: str) -> Iterator[tuple[str, ast.Module]]:
        for package in packages or PACKAGES:
            for path in sorted((self.root / package).rglob("*.py")):
                yield path.relative_to(self.root).as_posix(), ast.parse(path.read_text("utf-8"), str(path))

    def text(self, name: str) -> str:
        return (self.root / name).read_text("utf-8")

    def plant(self, name: str, source: str) -> None:
        """Add lines to a module, or make it. A package that did not exist gets its `__init__.py`."""
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        before = path.read_text("utf-8") if path.exists() else ""
        path.write_text(f"{before}\n{source}\n", "utf-8")


@pytest.fixture
def tree() -> Tree:
    return Tree(ROOT)


@pytest.fixture
def copied(tmp_path: Path) -> Tree:
    """The tree's sources in a folder of their own. Modification times are kept, so that the import graph's cache holds."""
    for name in RULED:
        source = ROOT / name
        if source.is_dir():
            shutil.copytree(source, tmp_path / name, ignore=shutil.ignore_patterns("__pycache__"))
        elif source.exists():
            shutil.copy2(source, tmp_path / name)
    return Tree(tmp_path)
