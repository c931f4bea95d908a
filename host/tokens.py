"""Which token acts for whom at a server, and how a token is fetched (spec H3).

Stands under `connection`. Refuses to know calls. Nobody's token is ever a stand-in for another person's.
"""

from __future__ import annotations

import json
import os
from base64 import b64decode
from collections.abc import Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from urllib.parse import quote

import anyio
import httpx2
from mcp.client.auth import OAuthFlowError
from mcp.client.auth.extensions.client_credentials import SignedJWTParameters
from mcp.client.auth.utils import (
    build_oauth_authorization_server_metadata_discovery_urls,
    build_protected_resource_metadata_discovery_urls,
    create_oauth_metadata_request,
    extract_resource_metadata_from_www_auth,
    handle_auth_metadata_response,
    handle_protected_resource_response,
    issuers_match,
    validate_metadata_issuer,
)
from mcp.shared.auth import OAuthMetadata, OAuthToken, ProtectedResourceMetadata
from mcp.shared.auth_utils import check_resource_allowed, resource_url_from_server_url

from host.config import OAuthConfig, ServerConfig
from host.errors import Unavailable
from host.transports import fetching_client
from host.types import SERVICE

#: A token is renewed this long before its end, or at half of a life that is shorter than twice that.
EARLY_SECONDS = 60.0
UNSAID_LIFE = 300.0
_ASSERTION = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"
_LOOPBACK = ("localhost", "127.0.0.1", "::1")


@dataclass(frozen=True, slots=True)
class Endpoint:
    """Where tokens are fetched. `issuer` is whom a signed assertion is meant for."""

    url: str
    issuer: str
    resource: str = ""


@dataclass(slots=True)
class Tokens:
    """One server's tokens. Files are read at each use, so that a changed token needs no restart."""

    prefix: str
    config: ServerConfig
    _oauth: tuple[str, float] = ("", 0.0)
    _endpoint: Endpoint | None = None
    _fetching: anyio.Lock = field(default_factory=anyio.Lock)

    def principal(self, subject: str) -> str:
        """Whose token acts for `subject`: the person's own where the server knows persons, else the service's."""
        return subject if self.config.staff_tokens_file else SERVICE.subject

    async def token(self, subject: str) -> str:
        """Raises Unavailable when the configured place holds no token: never falls back to another person's."""
        if self.config.staff_tokens_file:
            staff = await self._staff()
            if subject in staff:
                return staff[subject]
            if subject != SERVICE.subject:
                raise Unavailable(f"{self.prefix} has no token for {subject}; add it to {self.config.staff_tokens_file}")
        if self.config.oauth is not None:
            return await self._fetched(self.config.oauth)
        if self.config.token_env:
            return self._from_environment(self.config.token_env)
        if self.config.token_file:
            return (await self._read(self.config.token_file)).strip()
        return ""

    def partition(self, token: str) -> str:
        """Cached answers are kept apart by who asked. A fetched token changes often, its principal doesn't."""
        return "fetched" if token and token == self._oauth[0] else sha256(token.encode()).hexdigest()

    def renewed(self, refused: str) -> bool:
        """The server refused this token. Whether another one can be had in its place; the next `token` fetches it."""
        fetched = bool(refused) and refused == self._oauth[0]
        if fetched:
            self._oauth = ("", 0.0)
        return fetched or (bool(refused) and self.config.oauth is not None and not self.config.staff_tokens_file)

    def _from_environment(self, name: str) -> str:
        value = os.environ.get(name, "")
        if not value:
            raise Unavailable(f"{self.prefix} has no token; set {name}")
        return value

    async def _read(self, path: str) -> str:
        try:
            return await anyio.Path(path).read_text()
        except (OSError, ValueError) as error:
            raise Unavailable(f"{self.prefix} has no token; {path} can't be read ({type(error).__name__})") from None

    async def _staff(self) -> Mapping[str, str]:
        try:
            held = json.loads(await self._read(self.config.staff_tokens_file))
        except ValueError:
            held = None
        if not isinstance(held, dict) or not all(isinstance(value, str) and value for value in held.values()):
            raise Unavailable(f'{self.config.staff_tokens_file} must be a JSON object like {{"staff-0007": "token"}}')
        return held

    # OAuth client credentials. The SDK's own provider holds a lock across each request, so it is not used; its parts are.

    async def _fetched(self, oauth: OAuthConfig) -> str:
        async with self._fetching:  # held while a token is fetched, never while a call runs
            token, until = self._oauth
            if token and anyio.current_time() < until:
                return token
            try:
                with anyio.fail_after(20):
                    async with fetching_client() as http:
                        answer = await self._exchanged(http, oauth)
            except (
                httpx2.HTTPError,
                httpx2.InvalidURL,
                RuntimeError,
                TimeoutError,
                TypeError,
                ValueError,
                OAuthFlowError,
            ) as error:
                where = oauth.token_url or self.config.url
                raise Unavailable(f"{self.prefix}: no token from {where} ({_why(error)})") from None
            life = float(answer.expires_in or UNSAID_LIFE)
            self._oauth = (answer.access_token, anyio.current_time() + max(life - EARLY_SECONDS, life / 2))
            return answer.access_token

    async def _exchanged(self, http: httpx2.AsyncClient, oauth: OAuthConfig) -> OAuthToken:
        endpoint = self._endpoint = self._endpoint or await self._found(http, oauth)
        form = {"grant_type": "client_credentials"}
        form |= {"scope": oauth.scope} if oauth.scope else {}
        form |= {"resource": resource} if (resource := oauth.resource or endpoint.resource) else {}
        login = None
        match oauth.method:
            case "client_secret_basic":
                login = httpx2.BasicAuth(
                    *(quote(part, safe="") for part in (oauth.client_id, self._from_environment(oauth.secret_env)))
                )
            case "client_secret_post":
                form |= {"client_id": oauth.client_id, "client_secret": self._from_environment(oauth.secret_env)}
            case "private_key_jwt":
                form |= {"client_assertion_type": _ASSERTION, "client_assertion": await self._signed(oauth, endpoint.issuer)}
        response = await http.post(endpoint.url, data=form, auth=login or httpx2.USE_CLIENT_DEFAULT)
        if response.status_code != 200:
            self._endpoint = None  # looked up anew the next time
            raise OAuthFlowError(f"HTTP {response.status_code}; check client_id and its secret")
        return OAuthToken.model_validate_json(response.content)

    async def _signed(self, oauth: OAuthConfig, issuer: str) -> str:
        key = await self._read(oauth.key_file)
        if not (algorithm := _algorithm(key)):
            raise OAuthFlowError(
                f"{oauth.key_file} holds no private key in PEM that can sign (RSA, P-256, P-384, P-521, Ed25519)"
            )
        signing = SignedJWTParameters(
            issuer=oauth.client_id, subject=oauth.client_id, signing_key=key, signing_algorithm=algorithm
        )
        return await signing.create_assertion_provider()(issuer)

    async def _found(self, http: httpx2.AsyncClient, oauth: OAuthConfig) -> Endpoint:
        """The configured endpoint, else what the server's own metadata leads to (RFC 9728, RFC 8414)."""
        if oauth.token_url:
            return Endpoint(oauth.token_url, oauth.token_url)
        guarded = await _protected_resource(http, self.config.url)
        if guarded is None:
            raise OAuthFlowError("it names no authorization server; set token_url")
        issuer = str(guarded.authorization_servers[0])
        if not issuers_match(issuer, oauth.issuer):
            raise OAuthFlowError(f"it names the issuer {issuer}, and {oauth.issuer} is configured; no secret is sent")
        served = await _authorization_server(http, issuer, self.config.url)
        if served is None or not served.token_endpoint:
            raise OAuthFlowError(f"{issuer} does not say where it issues tokens; set token_url")
        url = httpx2.URL(str(served.token_endpoint))
        if url.scheme != "https" and url.host not in _LOOPBACK:
            raise OAuthFlowError(f"{url} is not https; no secret is sent there")
        return Endpoint(str(url), str(served.issuer), str(guarded.resource))


#: What a key is, by the object identifier within it.
_KINDS = {
    "2a864886f70d010101": "RS256",
    "2a8648ce3d030107": "ES256",
    "2b81040022": "ES384",
    "2b81040023": "ES512",
    "06032b6570": "EdDSA",
}


def _algorithm(pem: str) -> str:
    """How a private key signs; empty when it can't be told."""
    if "-----BEGIN RSA PRIVATE KEY-----" in pem:
        return "RS256"
    if "PRIVATE KEY-----" not in pem:
        return ""
    try:
        content = b64decode("".join(line for line in pem.splitlines() if line and "-" not in line and ":" not in line)).hex()
    except ValueError:
        return ""
    return next((algorithm for known, algorithm in _KINDS.items() if known in content), "")


async def _protected_resource(http: httpx2.AsyncClient, url: str) -> ProtectedResourceMetadata | None:
    """What the server says of itself at its well-known places; one that speaks for another address is not believed."""
    asked = await http.get(url)
    named = extract_resource_metadata_from_www_auth(asked) if asked.status_code in (401, 403) else None
    for place in build_protected_resource_metadata_discovery_urls(named, url):
        found = await handle_protected_resource_response(await http.send(create_oauth_metadata_request(place)))
        if found is None:
            continue
        if not check_resource_allowed(resource_url_from_server_url(url), str(found.resource)):
            raise OAuthFlowError(f"its metadata is for {found.resource}, not for {url}")
        return found
    return None


async def _authorization_server(http: httpx2.AsyncClient, issuer: str, url: str) -> OAuthMetadata | None:
    for place in build_oauth_authorization_server_metadata_discovery_urls(issuer, url):
        going_on, found = await handle_auth_metadata_response(await http.send(create_oauth_metadata_request(place)))
        if found is not None:
            validate_metadata_issuer(found, issuer)
            return found
        if not going_on:
            return None
    return None


def _why(error: Exception) -> str:
    """Words of ours or of the flow, never a library's text about an answer: that may hold a secret."""
    return str(error) if isinstance(error, OAuthFlowError) else type(error).__name__
