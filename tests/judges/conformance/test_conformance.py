"""The MCP conformance suite's client scenarios, each run against a whole host (client.py), and each of the others with a reason.

The suite calls an empty run a pass, so a scenario counts here only when its checks succeeded, none warned, and those that it
skipped are named below. `client.py` also ends with an error when a call of the scenario came to no result.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[3]
MODULES = ROOT / "build" / "judges" / "npm" / "node_modules"
SUITE = (str(MODULES / ".bin" / "node"), str(MODULES / "@modelcontextprotocol" / "conformance" / "dist" / "index.js"))
CLIENT = Path(__file__).with_name("client.py")

#: Scenario → the protocol versions it is listed for, and run at. "extension" stands for no version.
OURS = {
    "initialize": ("2025-06-18", "2025-11-25"),
    "tools_call": ("2025-06-18", "2025-11-25", "2026-07-28"),
    "elicitation-sep1034-client-defaults": ("2025-11-25",),
    "sse-retry": ("2025-11-25",),
    "request-metadata": ("2026-07-28",),
    "sep-2322-client-request-state": ("2026-07-28",),
    "http-standard-headers": ("2026-07-28",),
    "http-custom-headers": ("2026-07-28",),
    "http-invalid-tool-headers": ("2026-07-28",),
    "json-schema-ref-no-deref": ("2026-07-28",),
    "json-schema-2020-12-preservation": ("2025-11-25", "2026-07-28"),
    "auth/client-credentials-basic": ("extension",),
    "auth/client-credentials-jwt": ("extension",),
}
NOBODY_SIGNS_IN = (
    "a flow in which a person signs in with a browser: Deskhand is a service, which has a token from its operator or fetches one "
    "with client credentials"
)
NO_SKILLS = "the skills extension: what enters a prompt is the operator's choice of resources, and no server's skills are loaded"
NOT_OURS = {
    "auth/metadata-default": NOBODY_SIGNS_IN,
    "auth/metadata-var1": NOBODY_SIGNS_IN,
    "auth/metadata-var2": NOBODY_SIGNS_IN,
    "auth/metadata-var3": NOBODY_SIGNS_IN,
    "auth/basic-cimd": NOBODY_SIGNS_IN,
    "auth/scope-from-www-authenticate": NOBODY_SIGNS_IN,
    "auth/scope-from-scopes-supported": NOBODY_SIGNS_IN,
    "auth/scope-omitted-when-undefined": NOBODY_SIGNS_IN,
    "auth/scope-step-up": NOBODY_SIGNS_IN,
    "auth/scope-retry-limit": NOBODY_SIGNS_IN,
    "auth/token-endpoint-auth-basic": NOBODY_SIGNS_IN,
    "auth/token-endpoint-auth-post": NOBODY_SIGNS_IN,
    "auth/token-endpoint-auth-none": NOBODY_SIGNS_IN,
    "auth/pre-registration": NOBODY_SIGNS_IN,
    "auth/2025-03-26-oauth-metadata-backcompat": NOBODY_SIGNS_IN,
    "auth/2025-03-26-oauth-endpoint-fallback": NOBODY_SIGNS_IN,
    "auth/resource-mismatch": NOBODY_SIGNS_IN,
    "auth/offline-access-scope": NOBODY_SIGNS_IN,
    "auth/offline-access-not-supported": NOBODY_SIGNS_IN,
    "auth/authorization-server-migration": NOBODY_SIGNS_IN,
    "auth/iss-supported": NOBODY_SIGNS_IN,
    "auth/iss-not-advertised": NOBODY_SIGNS_IN,
    "auth/iss-supported-missing": NOBODY_SIGNS_IN,
    "auth/iss-wrong-issuer": NOBODY_SIGNS_IN,
    "auth/iss-unexpected": NOBODY_SIGNS_IN,
    "auth/iss-normalized": NOBODY_SIGNS_IN,
    "auth/metadata-issuer-mismatch": NOBODY_SIGNS_IN,
    "auth/enterprise-managed-authorization": "trades a signed-in person's identity for a token: nobody signs in to Deskhand",
    "auth/dpop": "tokens bound to a key, an extension: a token is a plain bearer token",
    "auth/dpop-nonce": "tokens bound to a key, an extension: a token is a plain bearer token",
    "auth/wif-jwt-bearer": "a cloud platform's own identity, an extension: Deskhand runs on any machine",
    "sep-2640-client-no-prefetch": NO_SKILLS,
    "sep-2640-client-verify-digest": NO_SKILLS,
    "sep-2640-client-verify-size": NO_SKILLS,
    "sep-2640-client-verify-frontmatter": NO_SKILLS,
}
NO_HANDSHAKE = "2026-07-28 has no handshake"
NO_PROMPTS = "Deskhand asks no server for prompts"
#: Checks of a scenario that may be skipped.
MAY_SKIP = {
    "request-metadata": {
        "ClientDeclaresRootsCapability": "Deskhand offers no roots",
        "ClientDeclaresSamplingCapability": "no server may use the model",
    },
    "http-standard-headers": {
        "ClientMcpMethodHeader_initialize": NO_HANDSHAKE,
        "ClientMcpMethodHeader_notifications_initialized": NO_HANDSHAKE,
        "ClientMcpMethodHeader_prompts_list": NO_PROMPTS,
        "ClientMcpMethodHeader_prompts_get": NO_PROMPTS,
        "ClientMcpNameHeader_prompts_get": NO_PROMPTS,
    },
}
CASES = [(scenario, version) for scenario, versions in OURS.items() for version in versions]


@dataclass(frozen=True, slots=True)
class Judged:
    """What a scenario came to: its checks, and all that the suite and the client said."""

    returned: int
    checks: list[Mapping[str, Any]]
    said: str

    def named(self, status: str) -> list[str]:
        return [str(check["name"]) for check in self.checks if check["status"] == status]


Running = dict[tuple[str, str], Future[Judged]]


def suite(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([*SUITE, *arguments], cwd=ROOT, capture_output=True, text=True, timeout=90, check=False)


def judge(scenario: str, version: str, folder: Path) -> Judged:
    at = [] if version == "extension" else ["--spec-version", version]
    command = f"{sys.executable} {CLIENT}"
    bounds = ["--timeout", "60000", "--output-dir", str(folder)]
    done = suite("client", "--command", command, "--scenario", scenario, *at, *bounds)
    (found,) = folder.rglob("checks.json")
    said = [path.read_text("utf-8") for path in sorted(found.parent.glob("std*.txt"))]
    return Judged(done.returncode, json.loads(found.read_text("utf-8")), "\n".join([done.stdout, *said]))


@pytest.fixture(scope="module")
def judged(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """The chosen scenarios, two at a time: each is a program of its own that mostly starts and waits."""
    chosen = [
        (str(item.callspec.params["scenario"]), str(item.callspec.params["version"]))
        for item in request.session.items
        if isinstance(item, pytest.Function) and item.path == request.path and hasattr(item, "callspec")
    ]
    with ThreadPoolExecutor(max_workers=2) as pool:
        yield {
            (scenario, version): pool.submit(judge, scenario, version, tmp_path_factory.mktemp("suite"))
            for scenario, version in chosen
        }


@pytest.mark.parametrize(("scenario", "version"), CASES)
def test_a_scenario_passes_with_every_check(judged: Running, scenario: str, version: str) -> None:
    one = judged[scenario, version].result(timeout=110)
    assert one.named("SUCCESS"), f"nothing was checked\n{one.said}"
    assert one.named("FAILURE") + one.named("WARNING") == [], one.said
    assert set(one.named("SKIPPED")) <= set(MAY_SKIP.get(scenario, {})), one.said
    assert one.returned == 0, one.said


def test_every_scenario_of_the_suite_is_run_or_is_not_for_us_with_a_reason() -> None:
    listed = dict(re.findall(r"^ +- (\S+) \[([^]]+)\]$", suite("list", "--client").stdout, re.MULTILINE))
    assert listed, "the suite listed nothing"
    assert set(listed) == set(OURS) | set(NOT_OURS)
    assert not set(OURS) & set(NOT_OURS)
    assert {scenario: tuple(listed[scenario].split(",")) for scenario in OURS} == OURS


def test_all_that_2026_07_28_requires_of_a_client_is_run_or_is_about_signing_in() -> None:
    text = suite("list", "--client", "--requirements", "2026-07-28").stdout.partition("Client scenarios")[2]
    required = set(re.findall(r"^  - (\S+)$", text.partition("Run and reported")[0], re.MULTILINE))
    assert required, "the suite required nothing"
    assert {scenario for scenario in required if not scenario.startswith("auth/")} <= set(OURS)
    assert {NOT_OURS[scenario] for scenario in required - set(OURS)} == {NOBODY_SIGNS_IN}
