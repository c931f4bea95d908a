"""Every id that Slack hands back to us, in one table: buttons (action_id), forms (callback_id), and what kind of message it is.

An id names what was pressed; on what, stands in `value` or `private_metadata` as an opaque id alone (facts come from the record).
"""

from __future__ import annotations

from typing import Final

# Buttons.  value: a question's id, unless said otherwise.
TICKET_WORK: Final = "ticket.work"  # value: the ticket's id
TICKET_WORK_WITH: Final = "ticket.work.with"  # value: the ticket's id
TICKET_STOP: Final = "ticket.stop"  # value: the ticket's id
TICKET_WHOLE: Final = "ticket.whole"  # value: the ticket's id
CONSENT_APPROVE: Final = "consent.approve"
CONSENT_DECLINE: Final = "consent.decline"
CONSENT_EDIT: Final = "consent.edit"
QUESTION_DETAILS: Final = "question.details"
INPUT_ANSWER: Final = "input.answer"
INPUT_OPEN: Final = "input.open"
INPUT_DECLINE: Final = "input.decline"
INPUT_CANCEL: Final = "input.cancel"
DRAFT_SEND: Final = "draft.send"
DRAFT_SEND_CONFIRMED: Final = "draft.send.confirmed"  # drawn only with its dialog
DRAFT_EDIT: Final = "draft.edit"
DRAFT_REJECT: Final = "draft.reject"
DRAFT_AGAIN: Final = "draft.again"
DRAFT_LOG: Final = "draft.log"
TOOL_ACCEPT: Final = "tool.accept"
TOOL_DECLINE: Final = "tool.decline"
IT_RAN: Final = "ran.yes"
IT_DID_NOT_RUN: Final = "ran.no"
PROGRESS_STOP: Final = "progress.stop"  # value: the queue run's id

# Forms.  private_metadata: the question's id, unless said otherwise.
FORM_LOADING: Final = "form.loading"
FORM_WORDS: Final = "form.words"
FORM_TICKET_WORK: Final = "form.ticket.work"  # private_metadata: the ticket's id
FORM_CONSENT_DECLINE: Final = "form.consent.decline"
FORM_CONSENT_EDIT: Final = "form.consent.edit"
FORM_INPUT: Final = "form.input"
FORM_DRAFT_EDIT: Final = "form.draft.edit"
FORM_DRAFT_REJECT: Final = "form.draft.reject"
FORM_DRAFT_AGAIN: Final = "form.draft.again"

# The field of an input block, the tick "send although it is flagged", and the choice of resources.
FIELD: Final = "field"
CONFIRMED: Final = "confirmed"
RESOURCES: Final = "resources"

# Message metadata: which card a message is, for looking it up again (spec B10).
METADATA_EVENT: Final = "deskhand_card"
