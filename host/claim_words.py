"""The words by which a sentence's tense, negation and reservation are told, per language.  Refuses to know any business.

Every entry is a regular expression over `amounts.plain` text, matched without case. A language is added by adding a `Lexicon`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass


def _any(*patterns: str) -> re.Pattern[str]:
    return re.compile("|".join(f"(?:{p})" for p in patterns), re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Lexicon:
    """`common` tells the language; `idioms` are blanked first, since their words don't mean what they say alone.

    `split` begins a clause of its own; `wish` makes a promise in the same sentence an offer; `attributed` gives a clause to the
    customer; `perfect` and `modal` say what a clause without verb of its own inherits.
    """

    code: str
    common: re.Pattern[str]
    idioms: re.Pattern[str]
    split: re.Pattern[str]
    negation: re.Pattern[str]
    late_negation: re.Pattern[str]
    offer: re.Pattern[str]
    wish: re.Pattern[str]
    promise: re.Pattern[str]
    done: re.Pattern[str]
    participle: re.Pattern[str]
    attributed: re.Pattern[str]
    asked: re.Pattern[str]


_VERB_ED = r"(?!(?:need|indeed|hundred|speed|seed|feed|weed|exceed|breed)\b)\w{2,}ed|made|sent|paid|given|done|taken|put"
_ED = (
    rf"(?:{_VERB_ED}|gone|left|out (?:for|of)|sold out|on your (?:card|account|statement)|late|lost|stuck|"
    rf"available|been|got|gotten|become|come|"
    rf"set|begun|under ?way|"
    r"on (?:its|their|the) way|complete|ready|pending|waiting|awaiting|in (?:progress|process|hand|transit|"
    r"stock)|back|final|through)"
)
_ADV = (
    r"(?:\W+(?:\w+ly|now|just|already|also|been|being|today|since|then|both|all|we|i|it|yet|to|you|"
    r"your|the|a|this|fully|in full)){0,4}?\W+"
)

ENGLISH = Lexicon(
    code="en",
    common=_any(
        r"\b(?:the|you|your|we|our|i|have|has|been|will|is|are|was|for|of|to|and|not|it|this|that|with|on|if|can|"
        r"please|no|as|be|us|a|an|never|any|all|from|by|at|he|she|they|my|there|but|so|or|yet|once|been|did|do|"
        r"does|had|were|which|who|would|could|should|may|about|it's|i'm)\b",
        r"(?:'(?:ll|ve|re|s|m|d)|n't)\b",
    ),
    idioms=_any(
        r"\b(?:no (?:problem|worries|doubt|matter|trouble|need to worry|later than|extra (?:cost|charge)s?|longer than)|"
        r"(?:don't|do not|need not|needn't|no need to|not to) (?:worry|hesitate|be concerned)|not only|"
        r"nothing (?:else|more|further)|"
        r"without (?:any )?(?:further )?(?:delay|ado)|why not|no further action|not just|if not (?:already|yet)|"
        r"cannot thank|can't thank|"
        r"(?:we|i) (?:don't|do not) need (?:anything|any more)\b|sorry you (?:have|'ve) had to|"
        r"at no (?:extra )?(?:cost|charge)|not a problem|"
        r"(?:regret|sorry|have|need|must|writing|want|afraid i have) to (?:inform|tell)|let me tell|"
        r"you (?:do not|don't|need not|needn't) (?:need|have) to|no action (?:is )?(?:needed|required))\b",
        r"\b(?:can|could|may|would like to|am able to|are able to|(?:am|are) (?:happy|pleased|glad|delighted) to|"
        r"'?d like to|(?:'m|'re) "
        r"(?:happy|pleased|glad|delighted) to) (?:also |now |hereby |happily |gladly )?(?:confirm|assure|inform|"
        r"tell|say|let you know|report|see|"
        r"share|announce|advise|reassure)\b",
        r"\b(?:you (?:have |had |'ve )?(?:also |just |already )?(?:requested|asked(?: us)?(?: for| to)?|wanted|"
        r"mentioned|wrote|said))\b",
        r"\b(?:you(?: still| also)?(?:'d like| would like| want| wish| (?:are|were) (?:asking|requesting|looking|"
        r"hoping))|you're (?:asking|hoping|looking))\b",
        r"\bcan (?=(?:now |also )?(?:expect|count on|look forward))",
        r"\b(?:as|like) (?:you )?(?:requested|asked|wished|promised|agreed|discussed|mentioned)\b",
    ),
    split=_any(
        r"\b(?:but|because|although|though|while|whereas|so that|so|that|which|who|until|once|as soon as|when|whenever|if|"
        r"unless|after|before|yet|however|"
        r"therefore|since|and|or|then)\b"
    ),
    negation=_any(
        r"\b(?:not|cannot|no|never|neither|nor|none|without|unable|nothing|nobody|refus(?:e|ed|ing)|declin(?:e|ed|ing)|"
        r"impossible|fail(?:s|ed)?|instead of|rather than|hardly|barely|isn't|(?:far|short) from)\b",
        r"n't\b",
        r"\b(?:cant|wont|dont|hasnt|havent|didnt|isnt|wasnt)\b",
    ),
    late_negation=_any(
        # "the refund of 28.00 EUR for order O-9233 has not …": names and numbers may stand between, no other verb
        r"^(?:\W+(?!(?:has|have|had|was|were|is|are|be|been|will|would|can|could)\b)\w+){0,16}?\W+"
        r"(?:has|have|had|was|were|is|are|will|would|can|could)(?:\W+(?:been|be))?\W+(?:not|never)\b",
        r"^(?:\W+\w+){0,5}?\W+(?:not|never|cannot|unable|impossible|declined|refused|rejected|denied|failed|"
        r"cancelled|canceled|stopped|"
        r"unsuccessful|withheld|outstanding|\w+n't)\b",
    ),
    offer=_any(
        r"\bin order to\b|^\W*to\b|(?<!\d )(?<!\d\. )(?<!\dth )\bmay\b(?! \d)|\b(?:can|could|would|might|"
        r"should you|shall (?:we|i)|option|eligible|entitled|qualif(?:y|ies)|possible|able to|happy to|glad to|"
        r"willing to|ready to|would like|need(?:s|ed)? to|must|has to|have to|want to|possibility|ask (?:you|whether)|depends|"
        r"suggest|recommend|propose|offer|discuss|consider|if needed|asked about|asking about|about (?:a|the|your)|"
        r"(?:request|apply|ask|asking) for)\b",
        r"(?:you|we|i|it|that|they|he|she)'d\b",
        r"\b(?:only|first) (?:after|once|when|if)\b",
    ),
    wish=_any(
        r"\b(?:if|should|whether|when|once|as soon as|in case) you(?:'d| would)?(?: like| want| wish| prefer|"
        r" agree| approve| accept| confirm| decide| tell|"
        r" say| choose| ask| let (?:us|me) know| still want| need| request| reply| give)\b",
        r"\b(?:would|do) you (?:like|want|prefer|agree|wish)\b",
        r"\blet (?:us|me) know (?:if|whether|which|what|how|that you)\b",
        r"\b(?:just|simply) (?:say|tell)\b|\bwith your (?:consent|agreement|ok|approval|go-ahead)\b|\b(?:at|on|"
        r"upon) your request\b|"
        r"\bplease confirm\b|\bshall (?:we|i)\b|\bif so\b|\bif that (?:is|'s) (?:fine|ok|okay|all right)\b",
    ),
    promise=_any(
        r"\b(?:will|shall|going to|gonna|about to|takes|looks|checks|contacts|handles|reviews)\b|'ll\b|\bwon't be long\b",
        r"\b(?:am|are|is|'m|'re|'s)(?:\W+\w+ly|\W+now|\W+also|\W+just|\W+currently)?\W+\w{2,}ing\b",
        r"\b(?:'m|'re)\W+\w{2,}ing\b",
        r"\bshould (?:receive|arrive|see|have|appear|be|get|reach|show)\b",
        r"\b(?:guarantee|promise|undertake|arrang(?:e|ing)|expect (?:to|your|the|a|it)|please find|let me(?! know)|"
        r"allow me to|let's|(?:be|is|are) (?:due|scheduled|set|expected|certain|sure) to|"
        r"processing|initiating|issuing|look forward)\b",
        r"\byou(?:\W+\w+ly)? (?:get|receive)\b",
        r"^\W*(?:(?:i|we) )(?:hereby |now |gladly |therefore |shall )*(?!(?:are|have|had|do|did|were|was|am|see|"
        r"need|understand|ask|know|hope)\b)[a-z]{3,}\b",
        r"\b(?:tomorrow|within|shortly|soon)\b",
        r"\bplease allow\b|\b(?:takes?|by) (?:up to )?\d",
    ),
    done=_any(
        rf"\b(?:have|has|had|having)(?:n't)?{_ADV}{_ED}\b",
        rf"'(?:ve|s|d){_ADV}{_ED}\b",
        rf"\b(?:was|were|is|are|am|been|being|got|'re|'m)(?:n't)?{_ADV}{_ED}\b",
        r"\b(?:i|we|they|it|colleague|team|someone|department)(?:\W+\w+ly|\W+just|\W+already|\W+also|\W+have|"
        r"\W+now|\W+then)*\W+(?:(?!need\b)\w{2,}ed|made|sent|paid|gave|did|put|left|went|took|began|got)\b",
        r"\b(?:confirmation of|on (?:its|the) way|under ?way|went (?:through|out|off)|successful(?:ly)?|already)\b",
        r"\b(?:arrived|left us|came|reached you)\b",
    ),
    participle=re.compile(rf"\b(?:{_VERB_ED}|on (?:its|the) way|under ?way|complete|pending|in progress)\b", re.IGNORECASE),
    attributed=_any(
        r"\byou(?:'ve|'re| have| had| are| were| also| already| first| now| just| kindly)*\W+(?:mention|wr[io]te|"
        r"say|said|state|ask|request|claim|told|"
        r"tell|report|describe|note|point|wait|explain|want|refer|quote|gave|give|were told|were promised|thought|"
        r"believe|understood)\w*",
        r"\byour (?:message|mail|email|e-mail|request|words|question|note|letter|bank|claim)\b|"
        r"\baccording to you\b|\bin your (?:own )?words\b",
    ),
    asked=re.compile(
        r"^\W*(?:would|do|does|did|shall|should|can|could|may|are|is|was|were|have|has|will|what|when|why|how|"
        r"which|where|who|or)\b",
        re.I,
    ),
)

GERMAN = Lexicon(
    code="de",
    common=_any(
        r"\b(?:der|die|das|und|ist|wir|ich|sie|ihnen|ihre?[nmrs]?|nicht|wird|werden|wurden?|haben|habe|den|dem|ein|"
        r"eine[nmrs]?|für|mit|auf|zu|von|"
        r"sobald|wenn|dass|bei|kein\w*|auch|sind|im|am|an|uns|es|noch|leider|bereits)\b"
    ),
    idioms=_any(
        r"\b(?:kein problem|keine (?:sorge|frage|umstände|ursache)|nicht nur|ohne (?:weitere )?verzögerung|"
        r"zögern sie nicht|nichts weiter|"
        r"(?:kann|können|darf|möchte|freue mich|freuen uns)(?: ich|"
        r" wir)?(?: ihnen)?(?: gerne?)?(?:,? )(?:zu )?(?:bestätigen|mitteilen|mitzuteilen|versichern|sagen)|"
        r"nicht (?:weiter )?(?:tun|unternehmen)|sie (?:müssen|brauchen)(?: dafür| dazu)? nichts(?: weiter)?|"
        r"wie (?:gewünscht|versprochen|besprochen|vereinbart)|"
        r"keine sorge|ohne weiteres)\b"
    ),
    split=_any(
        r"\b(?:aber|sondern|weil|da|denn|obwohl|während|dass|damit|sobald|wenn|falls|sofern|nachdem|bevor|bis|"
        r"jedoch|und|oder|deshalb|daher|dann)\b"
    ),
    negation=_any(
        r"\b(?:nicht|nichts|nie|niemals|kein\w*|weder|ohne|unmöglich|abgelehnt|verweigert|fehlgeschlagen|statt|"
        r"abgebrochen|gescheitert|noch nicht)\b"
    ),
    late_negation=_any(r"\b(?:nicht|nie|kein\w*|abgelehnt|fehlgeschlagen|unmöglich|gescheitert|verweigert)\b"),
    offer=_any(
        r"\b(?:können|kann|könnten?|könnte|würden?|würde|dürfen|darf|möglich(?:keit)?|möchten|wäre|wären|betrüge|"
        r"bekämen|erhielten|müssen|muss|müsste|"
        r"sollten|anspruch|bitten|vorschlagen|anbieten|falls gewünscht|lassen sich|lässt sich|beantragen|fragen|"
        r"frage|ginge|gerne möchten)\b"
    ),
    wish=_any(
        r"\b(?:wenn|falls|sofern|sobald) (?:sie|du|ihr)(?: das| es| dies| uns| damit)?(?: \w+){0,3} (?:möchten|"
        r"wünschen|wollen|zustimmen|bestätigen|mögen|einverstanden|"
        r"bescheid|sagen|antworten|freigeben)\b",
        r"\b(?:möchten|wünschen|wollen) sie\b|\bsollen wir\b|\bsoll ich\b|\bauf (?:ihren )?wunsch\b|"
        r"\bgeben sie (?:uns|mir) bescheid\b|"
        r"\b(?:sagen|schreiben|teilen) sie (?:uns|mir)\b|\bsollten sie\b|\bmit ihrer zustimmung\b",
    ),
    promise=_any(
        r"\b(?:wird|werden|werde|wirst|meldet|prüft|kümmert|schaut|kontaktiert|bearbeitet)\b",
        r"\b(?:erhalten|bekommen|kriegen|bekommst|erhältst|erhält|bekommt) (?:sie|du|in|den|das|die|ihr|ihren|"
        r"eine?n?|innerhalb|\d)",
        r"\bsie (?:\w+ ){0,6}?(?:erhalten|bekommen)\b",
        r"\b\w{2,}(?:en|e|eln|ern) (?:wir|ich)\b",
        r"\b(?:wir|ich) (?!haben\b|habe\b|sind\b|bin\b|hatten\b|waren\b|war\b|bitten\b|danken\b|sehen\b|"
        r"verstehen\b|wissen\b|hoffen\b)\w{2,}(?:en|e|eln|ern)\b",
        r"\b(?:erfolgt|erfolgen|veranlassen|garantieren|kümmern|binnen|in kürze|demnächst|umgehend|morgen|"
        r"innerhalb|bald|auf (?:ihrem|ihrer|ihr) (?:konto|karte))\b",
        r"\b(?:wir|ich) \w+ .*\b(?:an|zurück|weiter|aus|ein|gut)\W*$",
    ),
    done=_any(
        r"\b(?:habe|haben|hat|hatten|wurden?|ist|sind|war|waren|worden|"
        r"bereits)\b(?:\W+[\w.,€$£-]+){0,16}?\W+(?:\w*ge\w{2,}(?:t|en)|\w{3,}iert|"
        r"(?:er|be|ver|ent|zer|über|unter|wider)\w{2,}(?:t|en)|unterwegs|fertig|abgeschlossen|erledigt|"
        r"in bearbeitung|in auftrag|auf dem weg|da|"
        r"angekommen|verfügbar|vorrätig|lieferbar|ausverkauft)\b",
        r"\b(?:\w*ge\w{2,}(?:t|en)|\w{3,}iert|(?:er|be|ver|ent|über)\w{2,}(?:t|en))(?: worden)? (?:wurden?|ist|"
        r"sind|habe|haben|hat|worden|war)\b",
        r"\b(?:unterwegs|in bearbeitung|soeben|bereits|erfolgreich)\b",
    ),
    participle=re.compile(
        r"\b(?:\w*ge\w{2,}(?:t|en)|\w{3,}iert|(?:er|be|ver|ent)(?!innerung)\w{2,}t|unterwegs|erledigt|"
        r"abgeschlossen|überwiesen|erhalten)\b",
        re.I,
    ),
    attributed=_any(
        r"\bsie (?:\w+ ){0,3}?(?:schreiben|schrieben|erwähnen|erwähnten|sagen|sagten|fragen|fragten|nennen|nannten|"
        r"warten|berichten|geschrieben|erwähnt|"
        r"gesagt|gefragt|genannt|gewartet|gebeten|angegeben)\b",
        r"\b(?:schreiben|erwähnen|sagen|fragen|nennen|warten) sie\b|\bihre[rn]? (?:nachricht|mail|e-mail|anfrage|"
        r"angabe[n]?|frage)\b|\blaut ihnen\b",
    ),
    asked=re.compile(
        r"^\W*(?:möchten|wollen|wünschen|sollen|soll|können|dürfen|haben|hat|ist|sind|wurde|wird|werden|was|wann|"
        r"warum|wie|welche|wo|wer|oder)\b",
        re.I,
    ),
)

DUTCH = Lexicon(
    code="nl",
    common=_any(
        r"\b(?:de|het|een|en|is|wij|we|ik|u|uw|je|jouw|niet|wordt|worden|werd|hebben|heb|heeft|voor|met|op|van|te|"
        r"zodra|als|dat|bij|geen|ook|zijn|"
        r"naar|ons|nog|helaas|al|binnen|zal|zullen|kunnen)\b"
    ),
    idioms=_any(
        r"\b(?:geen (?:probleem|zorgen|dank)|niet alleen|aarzel niet|zonder (?:verdere )?vertraging|(?:kan|kunnen|"
        r"mag|wil)(?: ik| we| wij)?(?: u)? (?:bevestigen|"
        r"meedelen|melden|laten weten|verzekeren)|u hoeft (?:verder )?niets|zoals (?:gevraagd|beloofd|afgesproken|gewenst))\b"
    ),
    split=_any(
        r"\b(?:maar|omdat|want|hoewel|terwijl|dat|zodat|zodra|als|wanneer|indien|nadat|voordat|totdat|echter|en|of|dus|dan)\b"
    ),
    negation=_any(r"\b(?:niet|niets|nooit|geen|zonder|onmogelijk|afgewezen|geweigerd|mislukt|noch|in plaats van)\b"),
    late_negation=_any(r"\b(?:niet|nooit|geen|afgewezen|geweigerd|mislukt|onmogelijk)\b"),
    offer=_any(
        r"\b(?:kunnen|kan|kunt|zou|zouden|mogen|mag|mogelijk(?:heid)?|moeten|moet|recht op|voorstellen|aanbieden|"
        r"vragen|aanvragen|komt in aanmerking|"
        r"wilt|willen)\b"
    ),
    wish=_any(
        r"\b(?:als|indien|wanneer|zodra) (?:u|je|jij)(?: \w+){0,3}? (?:wilt|wil|wenst|akkoord|bevestigt|instemt|"
        r"laat weten|zegt)\b|\bwilt u\b|\bwil je\b|\bzullen we\b|"
        r"\blaat (?:het )?(?:ons|me|mij)(?: even)? weten\b|\bop (?:uw )?verzoek\b|\bgewenst\b|\bzal ik\b"
    ),
    promise=_any(
        r"\b(?:zal|zullen|gaan|ga|gaat|wordt|worden|neemt|kijkt|behandelt|bekijkt|belt|mailt)\b",
        r"\b(?:ontvangt|krijgt|krijg|ontvang)\b",
        r"\b(?:wij|we|ik) (?!hebben\b|heb\b|zijn\b|ben\b|waren\b|was\b|vragen\b|begrijpen\b|zien\b|hopen\b)\w{2,}\b",
        r"\b\w{2,}en (?:wij|we)\b",
        r"\b(?:binnen|binnenkort|spoedig|morgen|garanderen|regelen)\b",
    ),
    done=_any(
        r"\b(?:heb|hebben|heeft|had|werd|werden|is|zijn|was|waren|"
        r"al)\b(?:\W+[\w.,€$£-]+){0,14}?\W+(?:\w*ge\w{2,}(?:d|t|en)|(?:terug|uit|toe)?(?:be|ver|ont|her|"
        r"over)\w{2,}(?:d|t|en)|onderweg|klaar|"
        r"afgerond|in behandeling|binnen|leverbaar|op voorraad|uitverkocht)\b",
        r"\b(?:\w*ge\w{2,}(?:d|t|en)|(?:terug|uit|toe)?(?:be|ver|ont)\w{2,}d) (?:is|zijn|werd|hebben|heb|heeft)\b",
        r"\b(?:onderweg|reeds|zojuist|in behandeling|succesvol)\b",
    ),
    participle=re.compile(r"\b(?:\w*ge\w{2,}(?:d|t|en)|(?:terug|uit|toe)?(?:ver|be|ont)\w{2,}d|onderweg|afgerond)\b", re.I),
    attributed=_any(
        r"\b(?:u|je) (?:\w+ ){0,2}?(?:schrijft|schreef|noemt|noemde|zegt|zei|vraagt|vroeg|meldt|wacht|geschreven|"
        r"genoemd|gevraagd)\b|\b(?:schrijft|noemt|zegt|vraagt) (?:u|je)\b|"
        r"\buw (?:bericht|mail|vraag|verzoek)\b"
    ),
    asked=re.compile(
        r"^\W*(?:wilt|wil|zullen|zal|kunnen|kunt|heeft|hebben|is|zijn|werd|wordt|wat|wanneer|waarom|hoe|welke|waar|wie|of)\b",
        re.I,
    ),
)

FRENCH = Lexicon(
    code="fr",
    common=_any(
        r"\b(?:le|la|les|des|du|de|un|une|et|est|nous|je|vous|votre|vos|notre|pas|ne|sera|été|avons|ai|a|pour|avec|"
        r"sur|en|dès|si|que|qui|au|aux|"
        r"aucun\w*|sont|dans|ce|cette|sous|encore)\b",
        r"\b[ldnjcsq]'",
    ),
    idioms=_any(
        r"\b(?:pas de (?:problème|souci)|sans (?:délai|attendre|tarder)|n'hésitez pas|non seulement|(?:peux|"
        r"pouvons|puis|souhaitons|tiens à|suis heureux de|sommes heureux de)"
        r"(?: vous)? (?:confirmer|informer|assurer|dire)|ne vous inquiétez pas|vous n'avez rien à faire|"
        r"comme (?:demandé|promis|convenu|souhaité))\b"
    ),
    split=_any(
        r"\b(?:mais|car|parce que|puisque|bien que|tandis que|que|qui|dès que|lorsque|quand|si|après|avant|"
        r"cependant|et|ou|donc|puis|afin)\b|\bqu'"
    ),
    negation=_any(
        r"\bn'?e?\b.*\b(?:pas|jamais|plus|rien|aucun\w*)\b|\b(?:pas|jamais|aucun\w*|sans|impossible|refusée?s?|"
        r"rejetée?s?|échoué|ni)\b|\bau lieu de\b"
    ),
    late_negation=_any(r"\b(?:pas|jamais|refusée?s?|rejetée?s?|impossible|échoué)\b|\bn'(?:a|est|ont|avons|ai)\b"),
    offer=_any(
        r"\b(?:pouvons|peut|peuvent|pourrions|pourrait|pourriez|pouvez|serait|seraient|souhaitez|voulez|possible|"
        r"possibilité|droit à|devez|doit|"
        r"devons|proposons|proposer|demander|recevriez|obtiendriez|\w+(?:rions|riez|rait|raient))\b"
    ),
    wish=_any(
        r"\bsi vous (?:le )?(?:souhaitez|voulez|désirez|préférez|êtes d'accord|acceptez|confirmez)\b|"
        r"\b(?:souhaitez|voulez)-vous\b|\bdites[- ](?:le[- ])?(?:nous|moi)\b|"
        r"\bfaites[- ](?:le[- ])?(?:nous|moi)(?: le)? savoir\b|\bà votre demande\b|\bavec votre accord\b|"
        r"\bdès que vous (?:confirmez|acceptez)\b"
    ),
    promise=_any(
        r"\b\w{2,}(?:rons|rez|ront|rai|ra)\b",
        r"\b(?:allons|vais|va|vont|allez) (?:\w+ ){0,3}?\w+(?:er|ir|re|oir)\b",
        r"\b(?:nous|je|on) (?:vous |en |le |la |les |y )*(?!avons\b|ai\b|sommes\b|suis\b|avions\b|vous\b|"
        r"comprenons\b|voyons\b|espérons\b|vous\b)\w{2,}(?:ons|e|s)\b",
        r"\b(?:vous recevez|(?:m'|nous )occup\w+|examine|traite|contacte|s'occupe|garantissons|promettons|"
        r"en cours de|d'ici|sous \d|demain|bientôt)\b",
    ),
    done=_any(
        r"\b(?:ai|as|a|avons|avez|ont|avait|avaient|viens|"
        r"venons)\b(?:\W+\w+){0,4}?\W+(?:été(?:\W+\w+){0,2}?\W+)?(?:de )?(?:\w+(?:é|ée|és|ées|is|ise|it|ite|u|ue|"
        r"er)|en cours)\b",
        r"\b(?:est|sont|était|étaient|été)\b(?:\W+\w+){0,3}?\W+(?:\w+(?:é|ée|és|ées)|en (?:cours|route|chemin|"
        r"stock)|parti\w*|disponible|mis|mise|fait|faite)\b",
        r"\b(?:en cours|en route|en chemin|déjà|avec succès)\b",
    ),
    participle=re.compile(r"\b(?:\w{2,}(?:ée|és|ées|é)|fait|faite|mis|mise|en cours|en route)\b", re.I),
    attributed=_any(
        r"\bvous (?:\w+ ){0,2}?(?:écrivez|mentionnez|dites|demandez|indiquez|attendez|parlez|écrit|mentionné|dit|"
        r"demandé|indiqué|attendu)\b|"
        r"\bvotre (?:message|mail|courriel|demande|question)\b|\bselon vous\b"
    ),
    asked=re.compile(
        r"^\W*(?:souhaitez|voulez|pouvons|pouvez|avez|est-ce|faut-il|dois-je|devons|que|quand|pourquoi|comment|"
        r"quel\w*|où|qui|ou)\b",
        re.I,
    ),
)

LANGUAGES = (ENGLISH, GERMAN, DUTCH, FRENCH)

#: "It has been issued": a pronoun and a verb of performing, read as the act that was named just before.
IT_WAS = _any(
    r"\b(?:it|this|that|everything)\b(?=.*\b(?:issued|processed|done|approved|sent|paid|completed?|made|"
    r"initiated|submitted|arranged|requested|taken care|"
    r"on its way|confirmed|released|go through|gone through|went through|executed|handled|sorted)\b)",
    r"\b(?:issued?|process(?:ed)?|d(?:o|one)|approved?|sent|send|paid|pay|completed?|initiated?|submit(?:ted)?|"
    r"arranged?|request(?:ed)?|confirm(?:ed)?|"
    r"released?|handled?|sort(?:ed)?) (?:it|this|that)\b",
    r"\b(?:we|i) (?:will|have|did)\W*$|\bdarum kümmern\b|\btak(?:e|en|ing) care of (?:it|this|that)\b",
    r"\b(?:das|dies|es|sie|diese)\b(?=.*\b(?:veranlasst|erledigt|genehmigt|beantragt|angewiesen|überwiesen|"
    r"bearbeitet|ausgeführt|ausgezahlt|unterwegs)\b)",
    r"\b(?:dit|dat|het|deze)\b(?=.*\b(?:verwerkt|geregeld|goedgekeurd|aangevraagd|uitgevoerd|uitbetaald|gedaan|onderweg)\b)",
    r"\b(?:il|elle|ceci|cela|c'est|celui-ci)\b(?=.*\b(?:effectué\w*|traité\w*|approuvé\w*|fait|validé\w*|envoyé\w*|versé\w*)\b)",
)

#: Words by which a reply hands the ticket to another person, or promises that one will come back (spec H25).
HAND_OVER = _any(
    r"\b(?:colleagues?|specialists?|supervisor|manager|team(?: ?lead| leader| member)?|someone|somebody|"
    r"department|human|agent|representative|support staff|experts?)\b"
    r"(?=.*\b(?:look|check|review|contact|get back|in touch|reach out|take (?:over|care|it)|handl|investigat|"
    r"follow|reply|respond|answer|call|decid|approv|"
    r"assist|help|deal|work|know|informed|notified|process))",
    r"\b(?:forward|escalat|transferr?|rout|refer)(?:ed|ing|e|s)?\b(?=.*\b(?:team|colleagues?|lead|manager|"
    r"specialists?|department|supervisor|someone|them|it|this|your|the (?:request|case|matter|ticket))\b)",
    r"\b(?:pass|hand)(?:ed|ing)?\b(?:\W+\w+){1,4}?\W+(?:on|over|along)(?: to)?\b",
    r"\b(?:get|come|be) (?:straight |right )?back (?:to|with|in touch)|\b(?:be|get) in touch\b|\bcontact you\b|"
    r"\breach out to you\b|\bkeep you (?:updated|posted|informed)\b|"
    r"\b(?:notify|update|inform|e-?mail|call|tell) you\b|\blet you know\b|\bfollow up\b|\blook into (?:it|this|the)\b",
    r"\binvestigat(?:e|ing|ed|ion)\b",
    r"\b(?:weitergeleitet|weitergegeben|weiterleiten|weitergeben|leite[n]?\b.*\bweiter|gebe[n]?\b.*\bweiter|"
    r"eskaliert|übergeben an|melden uns|melde mich|meldet sich|melden sich|"
    r"(?:kolleg\w+|mitarbeiter\w*|team|teamleit\w+|fachabteilung)\b(?=.*\b(?:melde\w*|prüf\w*|kümmer\w*|"
    r"kontaktier\w*|bearbeite\w*|entscheide\w*|informier\w*|ansehen|anschau\w*|sieht|schaut)))",
    r"\b(?:doorgestuurd|doorgegeven|doorsturen|sturen\b.*\bdoor|stuur\b.*\bdoor|geven\b.*\bdoor|geëscaleerd|"
    r"neemt? contact|nemen contact|contact met u op|houden u op de hoogte|komen erop terug|"
    r"(?:collega\w*|medewerker\w*|team\w*)\b(?=.*\b(?:kijk\w*|controleer\w*|neemt|behandel\w*|beslis\w*|"
    r"bekijk\w*|nakijken|beoordel\w*)))",
    r"\b(?:transmis\w*|transmettons|transmets|transféré\w*|fait suivre|vous (?:re)?contacter\w*|"
    r"reviend\w+ vers vous|revenons vers vous|tiendrons au courant|tiendrons informé\w*|"
    r"(?:collègue\w*|équipe|responsable|conseiller\w*)\b(?=.*\b(?:examin\w*|contact\w*|répond\w*|occup\w*|"
    r"traiter\w*|vérifi\w*|décid\w*|étudi\w*)))",
)
