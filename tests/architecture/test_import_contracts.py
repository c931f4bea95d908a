"""Who may import whom: the contracts of pyproject.toml hold, each finds what it guards, and each goes red when violated."""

import re
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import grimp
import pytest

COMMAND = "import importlinter.cli as cli; cli.lint_imports_command()"
SECONDS = 60

# contract id → a module and the line in it that breaks the contract.
VIOLATIONS = [
    ("direction", "models/port.py", "import host.types"),
    ("direction", "host/types.py", "import bot.settings"),
    ("no-server-inside", "bot/settings.py", "import servers.shop"),
    ("no-server-inside", "host/config.py", "from servers import workspace"),
    ("servers-know-nothing", "servers/shop/__init__.py", "import models.port"),
    ("servers-know-nothing", "servers/partner/__init__.py", "from host.types import Ticket"),
    ("strangers", "servers/partner/__init__.py", "import servers.shop"),
    ("strangers", "servers/workspace/__init__.py", "import servers.partner"),
    ("inside-bot", "bot/settings.py", "import bot.wiring"),
    ("inside-bot", "bot/utils.py", '"""A file that nobody placed."""'),
    ("inside-host", "host/policy.py", "import host.dispatch"),
    ("inside-host", "host/grounding.py", "import host.policy"),
    ("inside-host", "host/utils.py", '"""A file that nobody placed."""'),
    ("inside-models", "models/port.py", "import models.qwen"),
    ("inside-models", "models/helpers/__init__.py", '"""A room that nobody placed."""'),
    ("one-path", "host/loop.py", "from host import sessions"),
    ("one-path", "bot/listeners/__init__.py", "import host.sessions"),
    ("wire", "host/dispatch.py", "from host.transports import stdio"),
    ("wire", "bot/wiring.py", "import host.replies"),
    ("mcp", "host/dispatch.py", "from mcp import Client"),
    ("mcp", "host/catalog.py", "from mcp_types import Tool"),
    ("mcp", "servers/workspace/__init__.py", "import mcp.server"),
    ("engine", "models/llama.py", "import llama_cpp"),
    ("engine", "models/grammar.py", "from llguidance import LLMatcher"),
    ("child", "models/llama.py", "import models.engine"),
    ("child", "models/wire.py", "from models import engine"),
    ("slack", "host/facade.py", "from slack_sdk.errors import SlackApiError"),
    ("slack", "servers/workspace/__init__.py", "import slack_bolt"),
    ("database", "host/journal.py", "import sqlalchemy"),
    ("database", "bot/wiring.py", "from sqlalchemy.ext.asyncio import create_async_engine"),
]


def contracts(pyproject: str) -> dict[str, dict[str, Any]]:
    listed = tomllib.loads(pyproject)["tool"]["importlinter"]["contracts"]
    return {contract["id"]: contract for contract in listed}


def lint(root: Path, cache: Path, *ids: str) -> tuple[int, str]:
    """Exit code and output of lint-imports in `root`, whose packages are found before the installed ones."""
    wanted = [word for one in ids for word in ("--contract", one)]
    done = subprocess.run(
        [sys.executable, "-c", COMMAND, "--no-logo", "--cache-dir", str(cache), *wanted],
        cwd=root,
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )
    return done.returncode, done.stdout + done.stderr


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("import-graph")


def test_every_contract_is_kept(tree, cache):
    code, output = lint(tree.root, cache)
    assert code == 0, output
    kept = re.search(r"Contracts: (\d+) kept, 0 broken", output)
    assert kept, output
    assert int(kept.group(1)) == len(contracts(tree.text("pyproject.toml"))) > 0


@pytest.mark.parametrize(("contract", "module", "line"), VIOLATIONS, ids=[f"{c}: {m}" for c, m, _ in VIOLATIONS])
def test_a_planted_violation_turns_its_contract_red(copied, cache, contract, module, line):
    copied.plant(module, line)
    code, output = lint(copied.root, cache, contract)
    assert code == 1, output
    assert f"{contracts(copied.text('pyproject.toml'))[contract]['name']} BROKEN" in output, output


def test_every_contract_has_a_planted_violation(tree):
    assert {contract for contract, _, _ in VIOLATIONS} == set(contracts(tree.text("pyproject.toml")))


def test_no_contract_guards_something_that_is_not_there(tree):
    """import-linter passes a protected contract whose module nobody imports; here that is red: nothing found, nothing proven."""
    named = contracts(tree.text("pyproject.toml"))
    graph = grimp.build_graph("bot", "host", "models", "servers", include_external_packages=True, cache_dir=None)
    keys = ("source_modules", "forbidden_modules", "modules", "containers", "protected_modules", "allowed_importers")
    modules = {module for contract in named.values() for key in keys for module in contract.get(key, ())}
    assert modules
    assert modules <= graph.modules, f"named in a contract but not there: {sorted(modules - graph.modules)}"
    guarded = [module for contract in named.values() for module in contract.get("protected_modules", ())]
    assert guarded
    for module in guarded:
        assert graph.find_modules_that_directly_import(module, as_package=not graph.is_module_squashed(module)), module


def test_no_layer_is_optional_and_no_import_is_excused(tree):
    for name, contract in contracts(tree.text("pyproject.toml")).items():
        assert "ignore_imports" not in contract, name
        assert "exhaustive_ignores" not in contract, name
        assert not [layer for layer in contract.get("layers", ()) if "(" in layer], name
        assert contract["type"] != "layers" or name == "direction" or contract["exhaustive"] is True, name
