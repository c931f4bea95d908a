"""What the app answers inside an acknowledgement or to a response URL, carried out in the channel and in the modals."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from servers.workspace.blocks import MOST_IN_MESSAGE, block_problems, messages, with_action_ids, with_ids
from servers.workspace.errors import ApiError
from servers.workspace.settings import Json
from servers.workspace.tickets import ResponseUrl, Tickets
from servers.workspace.webapi import views
from servers.workspace.workspace import Workspace


class Closer(Protocol):
    """Who can take a modal away and tell the app."""

    async def close_view(self, user_id: str, view: Json, cleared: bool) -> None: ...


@dataclass(frozen=True)
class Answers:
    """Carries out the app's answers; a bad one is shown to the person as the client would."""

    workspace: Workspace
    tickets: Tickets

    async def to_submission(self, closer: Closer, user_id: str, view_id: str, answer: Json) -> Json:
        """The acknowledgement of a view_submission: close, or errors, update, push, clear."""
        view = self.workspace.views[view_id]
        try:
            match answer.get("response_action"):
                case "errors":
                    return {"ok": False, "error": "fields", "errors": answer.get("errors") or {}}
                case "update":
                    return {"ok": True, "view": views.updated(self.workspace, view, views.checked(answer.get("view")))["id"]}
                case "push":
                    return {"ok": True, "view": views.pushed(self.workspace, user_id, views.checked(answer.get("view")))["id"]}
                case "clear":
                    for other in reversed(self.workspace.stack(user_id)):
                        if other["id"] == view_id:
                            self.workspace.put_view({**other, "_open": False})
                        else:
                            await closer.close_view(user_id, other, cleared=True)
                    return {"ok": True, "closed": True}
                case _:
                    self.workspace.put_view({**view, "_open": False})
                    return {"ok": True, "closed": True}
        except ApiError as error:
            words = f"The app answered with a view that cannot be shown ({error.answer['error']})."
            self.workspace.notice(user_id, view_id, words)
            return {"ok": False, "error": "bad_answer", "detail": words, "answer": error.answer}

    def to_command(self, user_id: str, channel_id: str, answer: Json | str | None) -> None:
        """The acknowledgement of a slash command: nothing, a text, or a message."""
        if answer:
            body = {"text": answer} if isinstance(answer, str) else answer
            try:
                self._write(ResponseUrl(user_id, channel_id, None, 0.0), body)
            except ApiError as error:
                self.slackbot(user_id, channel_id, f"The command's answer cannot be shown ({error.answer['error']}).")

    def to_url(self, secret: str, body: Json) -> Json:
        """A POST to a response URL."""
        url = self.tickets.use_url(secret)
        original = self.workspace.find_message(url.original_ts) if url.original_ts else None
        if original and body.get("delete_original"):
            if original.get("is_ephemeral"):
                self.workspace.drop_ephemeral(original["ts"])
            else:
                self.workspace.remove(original)
        elif original and body.get("replace_original"):
            self._replace(original, body)
        else:
            self._write(url, body)
        return {"ok": True}

    def slackbot(self, user_id: str, channel_id: str, text: str) -> None:
        """A word of the client's own to one person."""
        self.workspace.add_ephemeral({"channel": channel_id, "to": user_id, "user": "USLACKBOT", "text": text})

    def _replace(self, original: Json, body: Json) -> None:
        content = _content(body)
        changed = {**{key: value for key, value in original.items() if key != "blocks"}, **content}
        if original.get("is_ephemeral"):
            self.workspace.put_ephemeral(changed)
        else:
            self.workspace.put(changed)

    def _write(self, url: ResponseUrl, body: Json) -> None:
        app = self.workspace.seed.app
        message: Json = {"channel": url.channel_id, "user": app["user_id"], "bot_id": app["bot_id"], **_content(body)}
        if thread_ts := body.get("thread_ts"):  # without it the answer stands in the channel, even to a press in a thread
            message["thread_ts"] = str(thread_ts)
        if body.get("response_type") == "in_channel":
            self.workspace.add({**message, "app_id": app["id"]})
        else:
            self.workspace.add_ephemeral({**message, "to": url.user_id})


def _content(body: Json) -> Json:
    blocks, text = body.get("blocks"), body.get("text") or ""
    if not blocks and not text:
        raise ApiError("no_text")
    problems = list(block_problems(blocks, MOST_IN_MESSAGE)) if blocks else []
    if problems:
        raise ApiError("invalid_blocks", response_metadata={"messages": messages(problems)})
    return {"text": str(text), **({"blocks": with_action_ids(with_ids(blocks))} if blocks else {})}
