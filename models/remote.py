"""Any server that speaks the OpenAI chat completions API: llama-server, vLLM, Ollama (spec M1).

The server parses calls itself, so that nothing of Qwen's template is seen here; its `tool_calls` are read as strictly as our own
parser reads (arguments must be a JSON object), and words without a call are a draft.  Offers narrow the tools that are sent; a
grammar isn't assumed.  Tool names may hold no dot there: it is mapped away at this edge and back again.
"""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from types import TracebackType
from typing import Any, Self

import httpx2

from models import qwen
from models.errors import ModelSetupError, ModelUnavailableError, PromptTooLongError
from models.port import Call, Message, ModelInfo, Reply, Request, Usage

DOT = "__"


@dataclass(frozen=True, slots=True)
class RemoteSettings:
    """`base_url` ends before `/chat/completions`; `timeout` in seconds bounds one call."""

    base_url: str
    model: str
    api_key: str = ""
    timeout: float = 120.0


class RemoteModel:
    """`models.port.Model` over HTTP. One retry after a lost connection or an answer of 5xx, as for the local engine (spec M3)."""

    def __init__(self, settings: RemoteSettings) -> None:
        self._settings = settings
        headers = {"Authorization": f"Bearer {settings.api_key}"} if settings.api_key else {}
        self._client = httpx2.AsyncClient(base_url=settings.base_url, headers=headers, timeout=settings.timeout)

    @property
    def info(self) -> ModelInfo:
        return ModelInfo(name=self._settings.model, kind="remote")

    async def reply(self, request: Request) -> Reply:
        """Raises `PromptTooLongError`, `ModelUnavailableError` after one retry, `ModelSetupError` when the server refuses us."""
        started = time.monotonic()
        body = _body(self._settings.model, request)
        response = await self._post(body) or await self._post(body)
        if response is None:
            raise ModelUnavailableError(f"the model server at {self._settings.base_url} doesn't answer")
        if response.is_error:
            raise self._refusal(response)
        try:
            reply = _reply(response.json(), {_away(offer.name): offer.name for offer in request.offers})
        except (ValueError, KeyError, IndexError, TypeError):
            raise ModelUnavailableError(f"{self._settings.base_url} doesn't speak the chat completions API") from None
        return replace(reply, usage=replace(reply.usage, seconds=time.monotonic() - started))

    async def _post(self, body: dict[str, Any]) -> httpx2.Response | None:
        try:
            response = await self._client.post("chat/completions", json=body)
        except httpx2.TransportError:
            return None
        return None if response.status_code >= 500 else response

    def _refusal(self, response: httpx2.Response) -> Exception:
        """4xx in our own words; what the server wrote may quote the prompt and is only looked at."""
        if response.status_code in (400, 413) and "context" in response.text:
            return PromptTooLongError(f"the prompt doesn't fit the context of {self._settings.model}")
        return ModelSetupError(
            f"the model server at {self._settings.base_url} answered {response.status_code}: check address, key and model"
        )

    async def __aenter__(self) -> Self:
        await self._client.__aenter__()
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        await self._client.__aexit__(kind, error, trace)


def _body(model: str, request: Request) -> dict[str, Any]:
    offered = {offer.name: offer.schema for offer in request.offers}
    tools = [
        {
            "type": "function",
            "function": {
                "name": _away(tool.name),
                "description": tool.description,
                "parameters": offered[tool.name],
            },
        }
        for tool in request.tools
        if tool.name in offered
    ]
    body: dict[str, Any] = {
        "model": model,
        "messages": _messages(request.messages),
        "temperature": request.sampling.temperature,
        "seed": request.sampling.seed,
        "max_tokens": request.sampling.max_tokens,
    }
    return {**body, "tools": tools, "tool_choice": "required"} if tools else body


def _messages(messages: tuple[Message, ...]) -> list[dict[str, Any]]:
    """Results are tied to calls in order: the port's `tool` turns follow the calls they answer."""
    rendered: list[dict[str, Any]] = []
    waiting: list[str] = []
    for number, message in enumerate(messages):
        row: dict[str, Any] = {"role": message.role, "content": message.content}
        if message.role == "assistant" and message.calls:
            waiting = [f"call_{number}_{index}" for index in range(len(message.calls))]
            row["tool_calls"] = [
                {"id": key, "type": "function", "function": {"name": _away(call.name), "arguments": json.dumps(call.arguments)}}
                for key, call in zip(waiting, message.calls, strict=True)
            ]
        elif message.role == "tool":
            row["tool_call_id"] = waiting.pop(0) if waiting else f"call_{number}"
        rendered.append(row)
    return rendered


def _away(name: str) -> str:
    return name.replace(".", DOT)


def _reply(answer: Mapping[str, Any], names: Mapping[str, str]) -> Reply:
    """`names` maps what the server calls a tool to what we do; a name that was never offered stays as it came."""
    choice = answer["choices"][0]
    message = choice["message"]
    counts = answer.get("usage") or {}
    prompt, written = int(counts.get("prompt_tokens", 0)), int(counts.get("completion_tokens", 0))
    usage = Usage(prompt_tokens=prompt, evaluated_tokens=prompt, sampled_tokens=written)
    text = message.get("content") or ""
    wrapped = "".join(_wrapped(call["function"]) for call in message.get("tool_calls") or ())
    if choice.get("finish_reason") == "length":
        return Reply(raw=text + wrapped, unreadable=f"the reply was cut off after {written} tokens", usage=usage)
    if not wrapped:
        words = None if text.strip() else "the reply is empty"
        return Reply(raw=text, text="" if words else text.strip(), unreadable=words, usage=usage)
    if not all(_is_json(call["function"]["arguments"]) for call in message["tool_calls"]):
        return Reply(raw=text + wrapped, unreadable="the call isn't valid JSON", usage=usage)
    found = qwen.parse(wrapped)
    calls = tuple(Call(names.get(call.name, call.name), call.arguments) for call in found.calls)
    return replace(found, raw=text + wrapped, text="" if found.unreadable else text.strip(), calls=calls, usage=usage)


def _wrapped(function: Mapping[str, Any]) -> str:
    """A call in our own wrapper, its arguments as the server's model wrote them, so that one strict parser reads all calls."""
    return f'{qwen.CALL}\n{{"name": {json.dumps(function["name"])}, "arguments": {function["arguments"]}}}\n{qwen.CALL_END}\n'


def _is_json(arguments: str) -> bool:
    """One whole value: nothing in it can close our wrapper and open another."""
    try:
        json.loads(arguments)
    except (ValueError, RecursionError):
        return False
    return True
