"""The sentence reader: how drafts are cut, and what each sentence says about an act."""

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from host.claims import Saying, said, sentences

WORDS = re.compile(
    r"refund(?!\w*\s+(?:polic|terms|conditions|rules|quote))\w*|reimburs\w*|money(?! (?:order|box))|credit(?:ed|ing)\b|"
    r"(?:rück)?erstatt\w*|gutschrift\w*|gutgeschrieben|gutschreiben|geld\b|zurück(?:zahl|gezahlt|überwies)\w*|"
    r"terugbeta\w*|terugstort\w*|teruggestort|teruggeven|rembours\w*",
    re.IGNORECASE,
)
DONE, PROMISED, OFFERED, DENIED, MENTIONED = Saying.DONE, Saying.PROMISED, Saying.OFFERED, Saying.DENIED, Saying.MENTIONED

LABELLED = [
    # done
    ("I have issued a refund of 25.00 EUR to your card.", DONE),
    ("Your refund has been processed.", DONE),
    ("Your refund of €161.96 has now been fully processed and is on its way.", DONE),
    ("We've refunded the full amount.", DONE),
    ("I've gone ahead and refunded you.", DONE),
    ("I refunded 20 EUR this morning.", DONE),
    ("The money was sent back to your account yesterday.", DONE),
    ("A refund was issued.", DONE),
    ("Refund issued.", DONE),
    ("Refunded 75.32 EUR to your original payment method.", DONE),
    ("Your refund is complete.", DONE),
    ("Your refund request has been approved.", DONE),
    ("Your refund is on its way.", DONE),
    ("The refund you requested has been issued.", DONE),
    ("As requested, we have refunded you.", DONE),
    ("I can confirm that your refund has been issued.", DONE),
    ("I can confirm your refund was issued on 12 May.", DONE),
    ("I'm happy to tell you the refund went through.", DONE),
    ("We could not find the parcel and have refunded you.", DONE),
    ("We could not find the parcel, so we refunded you.", DONE),
    ("Don't worry, your money has been returned.", DONE),
    ("No problem, the refund has been submitted.", DONE),
    ("You have been refunded in full.", DONE),
    ("You were refunded 20 EUR.", DONE),
    ("The amount has been credited to your card.", DONE),
    ("I have checked the order, approved the return and refunded you.", DONE),
    ("We have reimbursed you for the broken jars.", DONE),
    ("Because it did not arrive, you have been refunded.", DONE),
    ("I have refunded the pot that was not delivered.", DONE),
    ("Not only have we refunded you, we also added a voucher.", DONE),
    ("Although the refund was declined at first, it has now been issued.", DONE),
    ("I have taken care of your refund.", DONE),
    ("Your refund's been issued.", DONE),
    ("Consider it refunded.", DONE),
    ("Once again, we have refunded you.", DONE),
    ("Wir haben Ihnen 20,00 € erstattet.", DONE),
    ("Die Rückerstattung wurde veranlasst.", DONE),
    ("Der Betrag von 2.614,50 € ist Ihnen bereits erstattet worden.", DONE),
    ("Ich habe die Erstattung soeben angewiesen.", DONE),
    ("Ihre Rückerstattung ist unterwegs.", DONE),
    ("We hebben het bedrag terugbetaald.", DONE),
    ("De terugbetaling is verwerkt.", DONE),
    ("Uw geld werd gisteren teruggestort.", DONE),
    ("Nous vous avons remboursé 20 €.", DONE),
    ("Le remboursement a été effectué.", DONE),
    ("Votre remboursement est en cours.", DONE),
    # promised
    ("We will refund you.", PROMISED),
    ("we'll refund you tomorrow", PROMISED),
    ("I will process your refund right away.", PROMISED),
    ("Your refund will be processed within 5 working days.", PROMISED),
    ("You will receive your money within 3-5 working days.", PROMISED),
    ("You'll receive your money back soon.", PROMISED),
    ("You should see the refund on your card by Friday.", PROMISED),
    ("We are going to refund the full amount.", PROMISED),
    ("I am processing your refund now.", PROMISED),
    ("Your refund is being processed.", DONE),
    ("Once the parcel is back, we will refund you.", PROMISED),
    ("We will, of course, refund you.", PROMISED),
    ("We will check the order and refund you.", PROMISED),
    ("We refund you 20 EUR.", PROMISED),
    ("I hereby refund the amount.", PROMISED),
    ("Unfortunately it broke, so you will get a refund.", PROMISED),
    ("Please allow 5 days for your refund.", PROMISED),
    ("The refund will be credited to your card.", PROMISED),
    ("I'll make sure your refund goes out today.", PROMISED),
    ("You won't have to do anything: the refund will arrive by itself.", PROMISED),
    ("Let me refund you.", PROMISED),
    ("You can expect your refund within 5 days.", PROMISED),
    ("Once your refund is approved, we will pay it to your card.", PROMISED),
    ("Rest assured that you will be refunded.", PROMISED),
    ("You're getting a full refund.", PROMISED),
    ("Wir erstatten Ihnen den Betrag.", PROMISED),
    ("Wir werden Ihnen den Betrag erstatten.", PROMISED),
    ("Der Betrag wird Ihnen in Kürze erstattet.", PROMISED),
    ("Sie erhalten Ihr Geld innerhalb von 5 Werktagen zurück.", PROMISED),
    ("Gerne erstatten wir Ihnen die Ware.", PROMISED),
    ("Sobald die Ware da ist, erstatten wir den Kaufpreis.", PROMISED),
    ("We zullen het bedrag terugbetalen.", PROMISED),
    ("U ontvangt uw geld binnen 5 werkdagen.", PROMISED),
    ("Het bedrag wordt terugbetaald.", PROMISED),
    ("Nous vous rembourserons.", PROMISED),
    ("Nous allons vous rembourser.", PROMISED),
    ("Vous recevrez votre remboursement sous 5 jours.", PROMISED),
    ("Nous vous remboursons 20 €.", PROMISED),
    # offered
    ("If you want, we can ask for a refund.", OFFERED),
    ("We can refund you 50 percent.", OFFERED),
    ("The refund would be 75.32 EUR.", OFFERED),
    ("A refund would come to 161.96 EUR.", OFFERED),
    ("You could get a refund of 20 EUR.", OFFERED),
    ("Would you like us to refund the order?", OFFERED),
    ("Shall we refund you?", OFFERED),
    ("If you'd like, we will refund you.", OFFERED),
    ("You may be eligible for a refund.", OFFERED),
    ("Please let us know if you would like a refund.", OFFERED),
    ("Was the refund paid to your card?", OFFERED),
    ("Wenn Sie möchten, erstatten wir den Betrag.", OFFERED),
    ("Die Erstattung würde 20,00 € betragen.", OFFERED),
    ("Wir können Ihnen 50 % erstatten.", OFFERED),
    ("De terugbetaling zou 20 euro zijn.", OFFERED),
    ("Le remboursement serait de 20 €.", OFFERED),
    ("Si vous le souhaitez, nous vous rembourserons.", OFFERED),
    # denied
    ("No refund was made.", DENIED),
    ("I can't refund the delivery fee.", DENIED),
    ("We are unable to issue a refund.", DENIED),
    ("The refund has not been issued.", DENIED),
    ("We have not refunded you yet.", DENIED),
    ("The refund was declined.", DENIED),
    ("I checked the order, it was delivered, but no refund was made.", DENIED),
    ("We will not be able to refund you.", DENIED),
    ("We can't, unfortunately, refund you.", DENIED),
    ("We never promised a refund.", DENIED),
    ("A refund is not possible after 60 days.", DENIED),
    ("We haven't issued any refund.", DENIED),
    ("Your request for a refund was declined.", DENIED),
    ("Es wurde keine Erstattung vorgenommen.", DENIED),
    ("Wir können Ihnen den Betrag leider nicht erstatten.", DENIED),
    ("Die Rückerstattung wurde abgelehnt.", DENIED),
    ("Wir erstatten die Versandkosten nicht.", DENIED),
    ("We kunnen het bedrag niet terugbetalen.", DENIED),
    ("Er is geen terugbetaling gedaan.", DENIED),
    ("Aucun remboursement n'a été effectué.", DENIED),
    ("Nous ne pouvons pas vous rembourser.", DENIED),
    # only mentioned
    ("Thank you for writing about your refund.", MENTIONED),
    ("You asked for a refund.", MENTIONED),
    ("Once the refund has been approved, you can see it on your card.", MENTIONED),
    ("If the refund is approved, a mail comes.", MENTIONED),
    ("You write that we have refunded you.", MENTIONED),
    ("Refunds are paid within 5 working days.", MENTIONED),
]


def strictest(text: str) -> Saying:
    return max((s.saying for sentence in sentences(text) for s in said(sentence, WORDS)), default=Saying.NOTHING)


@pytest.mark.parametrize(("text", "saying"), LABELLED, ids=[text for text, _ in LABELLED])
def test_a_sentence_is_read_by_tense_negation_and_reservation(text: str, saying: Saying) -> None:
    read = strictest(text)
    same = ({OFFERED, MENTIONED}, {DONE, PROMISED})  # which of the two it is decides nothing
    assert read is saying or any({read, saying} == pair for pair in same)


@pytest.mark.parametrize(
    "text",
    ["Your tracking number is missing.", "Our refund policy has been changed.", "The refund quote was made.", "Good morning."],
)
def test_a_sentence_without_the_act_says_nothing_of_it(text: str) -> None:
    assert strictest(text) is Saying.NOTHING


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("The amount is 2.614,50 €. Thank you.", ["The amount is 2.614,50 €.", "Thank you."]),
        ("The answer is no. We paid 5 EUR. It is late.", ["The answer is no.", "We paid 5 EUR.", "It is late."]),
        ("Order No. 5 left. It is yours.", ["Order No. 5 left.", "It is yours."]),
        ("Das gilt z.B. für Töpfe. Danke.", ["Das gilt z.B. für Töpfe.", "Danke."]),
        ("Das gilt z. B. für Töpfe. Danke.", ["Das gilt z. B. für Töpfe.", "Danke."]),
        ("Am 17. Mai kam es an. Gut.", ["Am 17. Mai kam es an.", "Gut."]),
        ("It cost EUR 2,614.50. We paid.", ["It cost EUR 2,614.50.", "We paid."]),
        ("It is done.We will write.", ["It is done.", "We will write."]),
        ("Really?! Yes... Good", ["Really?!", "Yes...", "Good"]),
        ("First line,\nsecond line.\n\nThird", ["First line,", "second line.", "Third"]),
        ("- one pot\n- two pans", ["- one pot", "- two pans"]),
        ("See e.g. the list. it is short.", ["See e.g. the list.", "it is short."]),
        ("Dear Mr. Lyle, hello. Bye", ["Dear Mr. Lyle, hello.", "Bye"]),
    ],
)
def test_sentences_are_cut_where_people_would(text: str, parts: list[str]) -> None:
    assert [s.text for s in sentences(text)] == parts


def test_a_wrapped_line_stays_one_sentence() -> None:
    assert strictest("We will\nrefund you.") is PROMISED


def test_invisible_characters_and_emphasis_hide_nothing() -> None:
    assert strictest("We have **re\u200bfunded** you.") is DONE


@settings(deadline=None, max_examples=60)
@given(st.text(max_size=300))
def test_cutting_loses_no_word_and_never_fails(text: str) -> None:
    kept = "".join("".join(s.text.split()) for s in sentences(text))
    assert kept == "".join(text.split())


@settings(deadline=None, max_examples=60)
@given(st.lists(st.sampled_from([text for text, _ in LABELLED]), min_size=1, max_size=5))
def test_a_promise_is_found_wherever_it_stands(texts: list[str]) -> None:
    strict = {DONE, PROMISED}
    labels = dict(LABELLED)
    assert (strictest("\n\n".join(texts)) in strict) == any(labels[t] in strict for t in texts)
