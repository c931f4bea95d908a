"""The rug pull of mcp-gauntlet, begun anew: it has shown its clean definitions once, and shows the other ones from now on."""

from mcp_gauntlet.fixtures import malicious_server as judge  # type: ignore[import-not-found]
from mcp_gauntlet.fixtures._serve import serve_raw  # type: ignore[import-not-found]

judge._listed_once = True
serve_raw("malicious-demo", list_tools=judge.list_tools, call_tool=judge.call_tool)
