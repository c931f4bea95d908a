"""Keeps other pages out: Host and Origin of every request must be this server's own; no other tab can press Approve."""

from collections.abc import Awaitable, Callable

from aiohttp import web

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]
_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'"
)
_HEADERS = {
    "Content-Security-Policy": _POLICY,
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}


def allowed_hosts(port: int) -> frozenset[str]:
    """The names under which this server may be addressed."""
    return frozenset({f"127.0.0.1:{port}", f"localhost:{port}"})


def refusal(request: web.Request, hosts: frozenset[str]) -> str | None:
    """Why a request is refused, in words; None when it may pass."""
    host, origin = request.headers.get("Host", ""), request.headers.get("Origin")
    if host not in hosts:
        return "Host is not this workspace; open it as http://127.0.0.1:PORT/"
    if origin is not None and origin != f"http://{host}":
        return "Origin is another page; only the workspace's own page may ask"
    site = request.headers.get("Sec-Fetch-Site", "none")
    to_the_page = request.path == "/" or request.path.startswith("/archives/")
    followed_a_link = request.method == "GET" and to_the_page and request.headers.get("Sec-Fetch-Mode") == "navigate"
    if site not in ("same-origin", "none") and not followed_a_link:
        return "the request comes from another site's page"
    if (
        request.path.startswith(("/control/", "/page/"))
        and request.method == "POST"
        and request.content_type != "application/json"
    ):
        return "send application/json"  # a form of another page cannot
    return None


@web.middleware
async def guard(request: web.Request, handler: Handler) -> web.StreamResponse:
    """Refuse what comes from elsewhere; add the strict headers to what is answered."""
    if words := refusal(request, request.app[HOSTS]):
        return web.json_response({"ok": False, "error": "forbidden", "detail": words}, status=403, headers=_HEADERS)
    try:
        response = await handler(request)
    except web.HTTPException as answer:
        answer.headers.update(_HEADERS)
        raise
    if not response.prepared:
        response.headers.update(_HEADERS)
    return response


HOSTS: web.AppKey[frozenset[str]] = web.AppKey("hosts", frozenset)
