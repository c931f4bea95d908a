"""Our four top-level names are ours alone in this environment, and the tree names no package index."""

import importlib.util
from collections.abc import Iterable
from importlib.metadata import Distribution, distributions
from pathlib import Path

from packaging.requirements import Requirement

OURS = {"bot", "host", "models", "servers"}
NAME = "deskhand"
#: Put together here, so that this file doesn't name them either. Which index is used is the reader's own setting.
INDEX_PARTS = [("pypi", "org"), ("pythonhosted", "org"), ("npmjs", "org"), ("npmjs", "com"), ("deb", "debian", "org")]
INDEX_HOSTS = [".".join(parts) for parts in INDEX_PARTS]
SKIPPED = {".git", ".venv", "build", "node_modules", "__pycache__", ".mypy_cache", ".ruff_cache", "var", ".hypothesis"}


def shipping(installed: Iterable[Distribution]) -> list[str]:
    """Distributions other than ours that put one of our names at the top level."""
    found = []
    for distribution in installed:
        tops = {path.parts[0].removesuffix(".py") for path in distribution.files or () if path.parts}
        if distribution.name != NAME and tops & OURS:
            found.append(f"{distribution.name}: {sorted(tops & OURS)}")
    return found


def naming(root: Path) -> list[str]:
    found = []
    for path in sorted(root.rglob("*")):
        if path.is_file() and not SKIPPED & set(path.relative_to(root).parts):
            text = path.read_text("utf-8", errors="ignore")
            found += [f"{path.relative_to(root)}: {host}" for host in INDEX_HOSTS if host in text]
    return found


def pins(text: str) -> dict[str, str]:
    required = [Requirement(line) for line in text.splitlines() if line.strip() and not line.startswith("#")]
    return {one.name.lower().replace("_", "-"): str(one.specifier) for one in required}


def test_no_other_distribution_ships_our_names(tree):
    installed = list(distributions())
    assert {"pytest", NAME} <= {distribution.name for distribution in installed}
    assert shipping(installed) == []
    for package in OURS:
        found = importlib.util.find_spec(package)
        assert found is not None
        assert found.origin is not None
        assert Path(found.origin).is_relative_to(tree.root), f"{package} comes from {found.origin}"


def test_a_planted_namesake_is_found(tmp_path):
    info = tmp_path / "stranger-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: stranger\nVersion: 1.0\n")
    (info / "RECORD").write_text("host/__init__.py,,\nstranger-1.0.dist-info/METADATA,,\nmodels.py,,\n")
    assert shipping(distributions(path=[str(tmp_path)])) == ["stranger: ['host', 'models']"]


def test_the_tree_names_no_package_index(tree):
    assert (tree.root / "pyproject.toml").exists()
    assert naming(tree.root) == []


def test_a_planted_index_is_found(tmp_path):
    (tmp_path / "README.md").write_text(f"pip install -i https://{INDEX_HOSTS[0]}/simple deskhand\n")
    assert naming(tmp_path) == [f"README.md: {INDEX_HOSTS[0]}"]


def test_every_pin_of_the_project_stands_in_the_constraints_too(tree):
    constraints = pins(tree.text("constraints.txt"))
    ours = next(one for one in distributions() if one.name == NAME)
    required = [Requirement(line) for line in ours.requires or ()]
    assert required
    for one in required:
        assert constraints.get(one.name.lower().replace("_", "-")) == str(one.specifier), one.name
