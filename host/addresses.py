"""Reads the address that a server wants a person to open (spec H22): shown, warned about, never opened or fetched.  Pure."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from ipaddress import IPv6Address, ip_address
from urllib.parse import SplitResult, urlsplit

MAX_URL_CHARS = 2000
_USUAL_PORTS = {"http": 80, "https": 443}
_HOST = re.compile(r"[\w.-]+", re.UNICODE)
_NUMBERS = re.compile(r"(?:0x[0-9a-f]+|\d+)(?:\.(?:0x[0-9a-f]*|\d+))*\.?", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Address:
    """`domain` as a browser resolves it, in letters a-z alone; `warnings` are sentences for the person who may open it."""

    url: str
    domain: str
    warnings: tuple[str, ...]


def read_address(url: object) -> Address | str:
    """The address with what speaks against it, or in words why nobody should be shown it as one to open."""
    if not isinstance(url, str) or not url:
        return "it names no address"
    if len(url) > MAX_URL_CHARS:
        return f"its address is longer than {MAX_URL_CHARS:,} characters"
    if any(not c.isprintable() or c.isspace() or unicodedata.category(c) in ("Cf", "Mn", "Me") for c in url) or "\\" in url:
        return "its address holds characters that don't belong in one"
    try:
        parts = urlsplit(url)
        host, port = parts.hostname or "", parts.port
    except ValueError:
        return "its address can't be read"
    if parts.scheme.lower() not in _USUAL_PORTS:
        return "its address is none of the web (https)"
    if "@" in parts.netloc:
        return "its address holds a name or password before the host"
    return _named(url, parts, host, port)


def _named(url: str, parts: SplitResult, host: str, port: int | None) -> Address | str:
    warnings: list[str] = []
    if parts.scheme.lower() == "http":
        warnings.append("The connection is not encrypted (http).")
    if port is not None and port != _USUAL_PORTS[parts.scheme.lower()]:
        warnings.append(f"It names an unusual port ({port}).")
    if ":" in host or _NUMBERS.fullmatch(host):
        return Address(url, host, (*warnings, _number_warning(host)))
    domain = _ascii(host)
    if not _HOST.fullmatch(host) or not domain:
        return "its address names no host"
    warnings += _letter_warnings(host, domain)
    if "." not in domain:
        warnings.append("The name is one of a local network, not of the internet.")
    return Address(url, domain, tuple(warnings))


def _number_warning(host: str) -> str:
    try:
        address = ip_address(host.partition("%")[0])
    except ValueError:
        return "It names a computer by a number in disguise instead of a domain."
    mapped = address.ipv4_mapped if isinstance(address, IPv6Address) else None
    inside = "" if (mapped or address).is_global else ", and one inside a private network"
    return f"It names a computer by its number instead of a domain{inside}."


def _ascii(host: str) -> str:
    """The name as browsers ask for it today, letter by letter: the standard library's own codec turns "ß" into "ss"."""
    labels = unicodedata.normalize("NFKC", host).rstrip(".").split(".")
    named = [label if label.isascii() else "xn--" + label.encode("punycode").decode("ascii") for label in labels]
    return ".".join(named) if all(0 < len(label) < 64 for label in named) else ""


def _letter_warnings(host: str, domain: str) -> list[str]:
    shown = _unicode(domain)
    if host.rstrip(".") == domain and "xn--" not in domain:
        return []
    read_as = f", which reads as “{shown}”" if shown != domain else ""
    warnings = [f"The domain is written in punycode or with letters outside a-z: it is really “{domain}”{read_as}."]
    mixed = [label for label in shown.split(".") if len(_scripts(label)) > 1]
    if mixed or _scripts(shown) - {"LATIN"}:
        warnings.append("Letters of another alphabet can look like ordinary ones: it may not be the site it looks like.")
    return warnings


def _unicode(domain: str) -> str:
    labels = []
    for label in domain.split("."):
        try:
            labels.append(label[4:].encode().decode("punycode") if label.startswith("xn--") else label)
        except UnicodeError:
            labels.append(label)
    return "".join(c if c.isprintable() else f"⟦U+{ord(c):04X}⟧" for c in ".".join(labels))


def _scripts(text: str) -> set[str]:
    return {unicodedata.name(c, "UNKNOWN").split()[0] for c in text if c.isalpha()}
