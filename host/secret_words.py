"""Whether words ask a person for a secret: a password, a key, a code that opens something, a payment card (spec H22).

Pure, and read word by word: a "rolling pin", a "token of appreciation" and a "secret ingredient" are none. Refuses to know
forms. In doubt it says yes: a form that is refused costs a moment, a password in a stranger's hands more.
"""

from __future__ import annotations

import re

from host.grounding import clean

_NOT_AFTER = {
    "card": ("loyalty", "customer", "membership", "member", "club", "library", "post", "business"),
    "token": ("gift", "book", "parking", "game", "as a", "small", "wooden", "metal"),
    "karten": ("kunden", "mitglieds", "bonus", "treue"),
}
_CARDS, _TOKENS = ("".join(f"(?<!{word} )" for word in _NOT_AFTER[thing]) for thing in ("card", "token"))
_KARTEN = "".join(f"(?<!{word})" for word in _NOT_AFTER["karten"])
_SECRETS = "(?:" + "|".join(
    (
        # passwords, in four languages
        r"(?:passwor[dt]|passwörter|passwd|passphrase|passcode|kennwort|kennwörter|wachtwoord)",
        r"\bpwd\b",
        r"\bpass (?:word|phrase|code)s?\b",
        r"\bmots? de passe\b",
        r"\bcontraseñas?\b",
        r"\blosungswort\b",
        r"\bgeheim(?:zahl|nummer|code|wort|wörter|nis|frage)\w*",
        # personal numbers
        r"\b(?:your|card|bank|account|security|sim|login|ihre|deine|ihr|dein|de|uw|votre) pins?\b",
        r"\bpin[ -]?(?:code|number|no|nr|nummer)s?\b",
        r"\bssn\b",
        r"\bsocial security (?:number|no)\b",
        # keys and tokens
        r"\b(?:access|api|private|secret|signing|encryption|ssh|recovery|master|account|webhook) ?keys?\b",
        r"\bapi\b.{0,12}\b(?:key|schlüssel)",
        r"\b(?:zugriffs|zugangs|geheim|api|private[rn]?)[ -]?schlüssel\w*",
        r"\b(?:client|api|app|shared|webhook|signing|jwt|oauth|aws|user|consumer|account) secrets?\b",
        r"\bsecrets?\b(?=\W*$|\s*[.:?!,;)]| (?:key|code|word|token|answer|question|phrase|number)\b)",
        r"\bsecrets?\b(?= (?:value|for|from|here|below|is|that)\b)",
        rf"{_TOKENS}\btokens?\b(?! (?:of|gesture|amount|sum|effort|price|fee|gift)\b)",
        r"\b(?:zugangs|zugriffs|sicherheits|auth)\w*token\w*",
        r"\bjwt\b",
        r"\bbearer\b",
        r"\b(?:seed|recovery|mnemonic|wallet) (?:phrase|words?|key)s?\b",
        # payment cards
        r"\bcv[vc]2?\b",
        r"\bcsc\b",
        r"\bcard (?:verification|validation|security)\b",
        r"\b(?:security|sicherheits|prüf|kartenprüf)[ -]?(?:code|ziffer|nummer)n?\b",
        rf"{_CARDS}\bcard ?(?:numbers?|no|nr|details|data|expiry)\b",
        r"\b(?:credit|debit|bank|payment) ?cards?\b(?! (?:statement|type|brand|issuer)\b)",
        r"\b(?:kredit|ec|giro|bank|debit|zahlungs)[ -]?karten?(?:nummer|daten|details)?\b",
        rf"\b{_KARTEN}karten(?:nummer|daten)\b",
        # what lets somebody in once
        r"\b(?:one[ -]?time|single[ -]?use|2fa|mfa|otp|totp|sms|verification|authentication|auth|authenticator) codes?\b",
        r"\b(?:login|log-in|backup|recovery|access) codes?\b",
        r"\b(?:otp|totp)\b",
        r"\b(?:bestätigungs|zugangs|zugriffs|einmal|verifizierungs|authentifizierungs|freischalt)[ -]?(?:code|pin|tan)s?\b",
        r"\bcredentials?\b",
        r"\b(?:log-?in|sign-?in) (?:details|data|information|name and)\b",
        r"\b(?:zugangs|anmelde|login)[ -]?daten\b",
        r"\b(?:security|secret) (?:answer|question)s?\b",
        r"\bmother'?s maiden name\b",
        r"\bsicherheitsfrage\w*",
    )
) + ")"  # fmt: skip
#: Words that mean something else in lower case: a pin, and the German for fir.
_UPPER = r"\bPINs?\b|\b(?:m|photo|push|i)?TANs?\b"
_ASKING = (
    r"(?:enter|type|provide|give|send|tell|share|confirm|submit|input|insert|paste|supply|fill|write|put|need|needs|require[sd]?|reply|"
    r"verify|state|what(?:'s| is| was| are)|key in|with your|use your|"
    r"geben|gib|gebt|eingeben|einzugeben|nennen|nenne|mitteilen|teilen|senden|sende|schicken|schicke|bestätigen|bestätige|eintragen|"
    r"tragen|trage|tippen|wie lautet|wie ist|brauchen?|benötigen?|benötigt|erforderlich|angeben|verraten|"
    r"vul|voer|geef|stuur|entrez|saisissez|donnez|indiquez|ihr|ihre|ihren|dein|deine|deinen)"
)
_SECRET = re.compile(_SECRETS, re.IGNORECASE)
_SECRET_UPPER = re.compile(_UPPER)
_ASKED = re.compile(rf"\b{_ASKING}\b", re.IGNORECASE)
_BARE = re.compile(
    r"(?:\W|\b(?:your|the|my|please|required|needed|here|ihr|ihre|bitte|code|now|again|and|und|or|oder)\b)*", re.IGNORECASE
)
#: Advice against it, told apart only where the denial stands right before what it denies.
_DENIED = re.compile(
    rf"\b(?:never|do not|don't|please don't|not|without|no|niemals|nie|kein|keine|keinen|nicht)\s(?:{_ASKING}\s)?"
    rf"(?:(?:us|me|here|in|your|the|a|any|ihr|ihre|dein|deine|das|die|den)\s){{0,3}}{_SECRETS}",
    re.IGNORECASE,
)
_GLUED = re.compile(
    r"passw|passphrase|passcode|apikey|accesstoken|authtoken|refreshtoken|bearertoken|privatekey|secretkey|accesskey|clientsecret|"
    r"creditcard|debitcard|(?<!loyalty)(?<!customer)(?<!member)(?<!membership)cardn(?:umber|r|o)|kennwort|kreditkarte|wachtwoord|motdepasse"
)
_PIN_NAME = re.compile(
    r"(?:(?:my|your|user|card|bank|account|security|login|sim|new|old|current|confirm) )*(?:pin|tan)(?: (?:code|number|nr|no))?"
)
_LETTERS = str.maketrans("аеорсухіѕкмтвԁɡαονρτικ", "aeopcyxiskmtbdgaovptik")  # drawn like Latin ones
_DIGITS = str.maketrans("013457@$", "oleastas")


def names_secret(text: str) -> bool:
    """Whether a field's title or description names a secret, other than to warn against giving one."""
    for reading in _readings(text):
        rest = _DENIED.sub(" ", reading)
        if _SECRET.search(rest) or _SECRET_UPPER.search(rest):
            return True
    return False


def field_name_is_secret(name: str) -> bool:
    """The same for a program's name of a field: "apiKey", "card_number", "pin"."""
    words = re.sub(r"(?<=[a-z])(?=[A-Z0-9])|(?<=[A-Z])(?=[A-Z][a-z])|(?<=\d)(?=[A-Za-z])|[\W_]+", " ", name).strip()
    lower = " ".join(words.lower().split())
    return (
        bool(_PIN_NAME.fullmatch(lower))
        or names_secret(lower)
        or names_secret(name)
        or any(_GLUED.search(reading.lower().replace(" ", "")) for reading in _readings(lower))
    )


def asks_for_secret(text: str) -> bool:
    """Whether a message asks for a secret in one of its sentences; one that only mentions it does not."""
    for reading in _readings(text):
        for sentence in re.split(r"(?<=[.?!;])\s|\n", reading):
            rest = _DENIED.sub(" ", sentence)
            found = _SECRET.search(rest) or _SECRET_UPPER.search(rest)
            if found and (
                _ASKED.search(rest) or "?" in rest or _BARE.fullmatch(rest[: found.start()] + " " + rest[found.end() :])
            ):
                return True
    return False


def _readings(text: str) -> tuple[str, ...]:
    """As written; and with look-alike letters, digits for letters and gaps between letters undone."""
    plain = clean(text)
    closed = re.sub(r"\b(?:\w[ .\-_*]){3,}\w\b", lambda m: re.sub(r"[ .\-_*]", "", m[0]), plain)
    same = closed.translate(_LETTERS)
    guessed = re.sub(r"\b(?=[\w@$]*[A-Za-z])[\w@$]+", lambda m: m[0].translate(_DIGITS), same)
    return tuple(dict.fromkeys((plain, same, guessed)))
