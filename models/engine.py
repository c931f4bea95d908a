"""The engine's process: `python -m models.engine --model PATH`.  The only importer of llama_cpp and llguidance.

GGML aborts the process on an assertion and keeps every core busy, so it lives here, at low priority, where a crash costs one
call (spec M3).  It reads frames of `models.wire` on standard input and answers on standard output; it knows prompts as
segments, offers and sampling, and nothing of tickets.

One sequence is kept alive.  A new prompt reuses the longest common prefix of the prompt before it (spec M5).  Two choices make a
cached run give exactly the logits of a cold one, measured with this build on CPU:

* flash attention off and weights not repacked: the result of a row then doesn't depend on how the prompt was cut into
  batches, as long as each batch holds at least `MIN_BATCH` tokens (below 8 other kernels are used);
* what was decoded token by token (the reply) is dropped, and evaluated as prompt when it comes back in the next turn.
"""

from __future__ import annotations

import argparse
import ctypes
import os
import queue
import re
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any, BinaryIO

import llama_cpp as lib
import llguidance.llamacpp
import llguidance.numpy
import numpy as np
from llguidance import LLMatcher
from numpy.typing import NDArray

from models import wire
from models.errors import GrammarError
from models.grammar import build
from models.port import Offer, Sampling, Usage

MIN_BATCH = 8
TICK = 1.0


class _Refused(Exception):
    """The call ends without a reply; `kind` is one of `wire.ErrorKind`."""

    def __init__(self, kind: wire.ErrorKind, text: str) -> None:
        super().__init__(text)
        self.kind = kind


class _LoadError(Exception):
    """The model can't be loaded; its text is for the operator."""


@dataclass(frozen=True)
class Settings:
    """How the model is loaded: `context` and `batch` in tokens."""

    model: str
    context: int
    threads: int
    batch: int
    repack: bool
    flash_attention: bool


@lib.llama_log_callback  # type: ignore[untyped-decorator]
def _silent(_level: int, _text: bytes, _data: ctypes.c_void_p) -> None:
    """llama.cpp's chatter, dropped: it may name paths, and nobody reads it."""


class Vocabulary:
    """Tokens of one model. Text becomes text: no control or added token can come out of `text` (spec M4)."""

    def __init__(self, handle: Any) -> None:
        self._handle = handle
        self.size: int = lib.llama_vocab_n_tokens(handle)
        self._special: set[int] = set()
        added: list[str] = []
        for token in range(self.size):
            attributes = lib.llama_vocab_get_attr(handle, token)
            if attributes & (lib.LLAMA_TOKEN_ATTR_CONTROL | lib.LLAMA_TOKEN_ATTR_USER_DEFINED):
                self._special.add(token)
            if attributes & lib.LLAMA_TOKEN_ATTR_USER_DEFINED:
                added.append(self.piece(token).decode())
        # llama_tokenize finds added tokens (`<tool_call>`) in text whatever parse_special says: such text is cut in two.
        self._added = re.compile("|".join(re.escape(a) for a in sorted(added, key=len, reverse=True)) or r"(?!)")

    def prompt(self, segments: Sequence[tuple[str, bool]]) -> list[int]:
        return [token for text, special in segments for token in (self.special(text) if special else self.text(text))]

    def special(self, text: str) -> list[int]:
        tokens = self._tokenize(text, parse_special=True)
        if len(tokens) != 1 or tokens[0] not in self._special:
            raise _Refused("grammar", f"the model's vocabulary has no single token {text}")
        return tokens

    def text(self, text: str) -> list[int]:
        tokens: list[int] = []
        for part in self._cut(text):
            tokens += self._tokenize(part, parse_special=False)
        if not self._special.isdisjoint(tokens):
            raise RuntimeError("a control token came out of text")
        return tokens

    def ends(self, token: int) -> bool:
        """Whether this token ends a reply made without a grammar: end of generation, or any other control token."""
        control = lib.llama_vocab_get_attr(self._handle, token) & lib.LLAMA_TOKEN_ATTR_CONTROL
        return bool(control or lib.llama_vocab_is_eog(self._handle, token))

    def piece(self, token: int) -> bytes:
        buffer = ctypes.create_string_buffer(512)
        size = lib.llama_token_to_piece(self._handle, token, buffer, 512, 0, True)
        return buffer.raw[: max(size, 0)]

    def string(self, tokens: Sequence[int]) -> str:
        return b"".join(self.piece(token) for token in tokens).decode(errors="replace")

    def _cut(self, text: str) -> Iterator[str]:
        start = 0
        for match in self._added.finditer(text):
            yield text[start : match.start() + 1]
            start = match.start() + 1
        yield text[start:]

    def _tokenize(self, text: str, *, parse_special: bool) -> list[int]:
        data = text.encode()
        room = len(data) + 8
        tokens = (lib.llama_token * room)()
        count = lib.llama_tokenize(self._handle, data, len(data), tokens, room, False, parse_special)
        return list(tokens[:count])


class Decoder:
    """One llama.cpp context with one live sequence; counts what it evaluates. Knows tokens only."""

    def __init__(self, settings: Settings) -> None:
        lib.llama_backend_init()
        lib.llama_log_set(_silent, ctypes.c_void_p(0))
        model_params = lib.llama_model_default_params()
        model_params.use_extra_bufts = settings.repack
        self._model = lib.llama_model_load_from_file(settings.model.encode(), model_params)
        if not self._model:
            raise _LoadError(f"llama.cpp can't load {os.path.basename(settings.model)}: is it a whole GGUF file?")
        self.vocabulary_handle = lib.llama_model_get_vocab(self._model)
        params = lib.llama_context_default_params()
        params.n_ctx = settings.context
        params.n_batch = params.n_ubatch = settings.batch
        params.n_seq_max = 1
        params.n_threads = params.n_threads_batch = settings.threads
        params.flash_attn_type = int(settings.flash_attention)
        self._context = lib.llama_init_from_model(self._model, params)
        if not self._context:
            raise _LoadError(f"no memory for a context of {settings.context} tokens: set a smaller one")
        self._memory = lib.llama_get_memory(self._context)
        self._batch = lib.llama_batch_init(settings.batch, 0, 1)
        self._batch_size = settings.batch
        self._vocabulary_size: int = lib.llama_vocab_n_tokens(self.vocabulary_handle)
        self.live: list[int] = []
        self.stop = threading.Event()
        self._alive: Callable[[], None] = _nothing
        self._abort = lib.ggml_abort_callback(self._asked_to_stop)

    def keep(self, count: int) -> None:
        """Forget all but the first `count` tokens of the live sequence."""
        lib.llama_memory_seq_rm(self._memory, 0, count, -1)
        del self.live[count:]

    def prefill(self, tokens: Sequence[int], alive: Callable[[], None]) -> None:
        """Evaluate prompt tokens after the live ones, in batches that are never under MIN_BATCH; `alive` is called all the while.

        The abort callback is set here only: it costs a few microseconds per graph node, and a batch of prompt may take seconds,
        on a busy machine a minute.
        """
        self._alive = alive
        lib.llama_set_abort_callback(self._context, self._abort, None)
        try:
            for size in batches(len(tokens), self._batch_size):
                self._decode(tokens[:size])
                tokens = tokens[size:]
        finally:
            lib.llama_set_abort_callback(self._context, lib.ggml_abort_callback(), None)
            self._alive = _nothing

    def _asked_to_stop(self, _data: int | None) -> bool:
        """Called by llama.cpp between the nodes of its graph; must not raise."""
        self._alive()
        return self.stop.is_set()

    def extend(self, tokens: Sequence[int]) -> None:
        """Evaluate tokens of the reply."""
        for start in range(0, len(tokens), self._batch_size):
            self._decode(tokens[start : start + self._batch_size])

    def logits(self) -> NDArray[np.float32]:
        """A view, not a copy, of the scores after the last token; valid until the next evaluation."""
        pointer = lib.llama_get_logits_ith(self._context, -1)
        return np.ctypeslib.as_array(pointer, (self._vocabulary_size,))

    def _decode(self, tokens: Sequence[int]) -> None:
        batch, start, last = self._batch, len(self.live), len(tokens) - 1
        batch.n_tokens = len(tokens)
        for index, token in enumerate(tokens):
            batch.token[index] = token
            batch.pos[index] = start + index
            batch.n_seq_id[index] = 1
            batch.seq_id[index][0] = 0
            batch.logits[index] = index == last
        status = lib.llama_decode(self._context, batch)
        if status != 0:
            lib.llama_memory_seq_rm(self._memory, 0, start, -1)
            if self.stop.is_set():
                raise _Refused("cancelled", "cancelled")
            raise RuntimeError(f"llama_decode answered {status}")
        self.live.extend(tokens)


def _nothing() -> None:
    return None


def batches(count: int, size: int) -> list[int]:
    """Cut `count` tokens into batches of at most `size`, the last of them never under MIN_BATCH where it can be helped."""
    whole, rest = divmod(count, size)
    sizes = [size] * whole + ([rest] if rest else [])
    if whole and 0 < rest < MIN_BATCH:
        sizes[-2:] = [size - MIN_BATCH, rest + MIN_BATCH]
    return sizes


def reusable(live: Sequence[int], prompt: Sequence[int]) -> int:
    """How many tokens of the live sequence the prompt can keep, leaving at least MIN_BATCH to evaluate."""
    limit = max(0, min(len(live), len(prompt) - MIN_BATCH))
    return next((i for i in range(limit) if live[i] != prompt[i]), limit)


class Engine:
    """Answers one call at a time."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.decoder = Decoder(settings)
        self.vocabulary = Vocabulary(self.decoder.vocabulary_handle)
        self._tokenizer = llguidance.llamacpp.lltokenizer_from_vocab(self.decoder.vocabulary_handle)
        self._mask = llguidance.numpy.allocate_token_bitmask(1, self._tokenizer.vocab_size)

    def answer(self, call: _Job) -> tuple[str, wire.Stopped, Usage]:
        started = time.monotonic()
        sampling = call.sampling
        prompt = self.vocabulary.prompt(call.segments)
        if len(prompt) + sampling.max_tokens > self.settings.context:
            raise _Refused(
                "prompt_too_long",
                f"the prompt has {len(prompt)} tokens; with {sampling.max_tokens} for the reply that is more than the "
                f"context of {self.settings.context}",
            )
        matcher = self._matcher(call.offers)
        kept = reusable(self.decoder.live, prompt)
        self.decoder.keep(kept)
        self.decoder.prefill(prompt[kept:], call.tick)
        call.check()
        try:
            tokens, forced, stopped = self._generate(call, matcher)
        finally:
            self.decoder.keep(len(prompt))
        usage = Usage(
            prompt_tokens=len(prompt),
            evaluated_tokens=len(prompt) - kept,
            sampled_tokens=len(tokens) - forced,
            forced_tokens=forced,
            seconds=time.monotonic() - started,
        )
        return self.vocabulary.string(tokens), stopped, usage

    def _matcher(self, offers: Sequence[Offer]) -> LLMatcher | None:
        if not offers:
            return None
        matcher = LLMatcher(self._tokenizer, build(offers), log_level=0)
        if not matcher.is_error():
            return matcher
        for offer in offers:
            alone = LLMatcher(self._tokenizer, build([offer]), log_level=0)
            if alone.is_error():
                raise GrammarError(f"{offer.name}: its schema can't be made a grammar: {_reason(alone.get_error())}")
        raise GrammarError(f"the offered tools don't fit in one grammar: {_reason(matcher.get_error())}")

    def _generate(self, call: _Job, matcher: LLMatcher | None) -> tuple[list[int], int, wire.Stopped]:
        """The reply's tokens, how many of them were forced, and why it ended."""
        random = np.random.default_rng(call.sampling.seed)
        tokens: list[int] = []
        forced = 0
        while len(tokens) < call.sampling.max_tokens:
            call.check()
            step = matcher.compute_ff_tokens() if matcher else []
            if step:
                forced += len(step)
            else:
                step = [self._sample(matcher, call.sampling.temperature, random)]
                if matcher is None and self.vocabulary.ends(step[0]):
                    return tokens, forced, "end"
            if matcher and not matcher.consume_tokens(step):
                raise RuntimeError(f"the grammar stopped: {_reason(matcher.get_error())}")
            tokens += step
            if matcher and matcher.is_stopped():
                return tokens, forced, "grammar"
            self.decoder.extend(step)
        return tokens, forced, "max_tokens"

    def _sample(self, matcher: LLMatcher | None, temperature: float, random: np.random.Generator) -> int:
        """One token, looking only at the scores of those allowed."""
        logits = self.decoder.logits()
        allowed: NDArray[np.intp] | None = None
        if matcher:
            llguidance.numpy.fill_next_token_bitmask(matcher, self._mask, 0)
            bits = np.unpackbits(self._mask.view(np.uint8)[0], bitorder="little")[: self.vocabulary.size]
            allowed = np.flatnonzero(bits)
            if not allowed.size:
                raise RuntimeError(f"the grammar allows nothing: {_reason(matcher.get_error())}")
            logits = logits[allowed]
        if temperature <= 0:
            choice = int(logits.argmax())
        else:
            weights = np.exp((logits - logits.max()).astype(np.float64) / temperature)
            choice = int(random.choice(weights.size, p=weights / weights.sum()))
        return choice if allowed is None else int(allowed[choice])


def _reason(error: str) -> str:
    """The first telling line of llguidance's message, without the grammar it quotes."""
    return error.split("\n")[0].strip()[:200]


@dataclass
class _Job:
    id: int
    segments: list[tuple[str, bool]]
    offers: list[Offer]
    sampling: Sampling
    out: Writer
    stop: threading.Event
    ticked: float = 0.0

    def check(self) -> None:
        """Say that we live, and stop when asked to."""
        if self.stop.is_set():
            raise _Refused("cancelled", "cancelled")
        self.tick()

    def tick(self) -> None:
        now = time.monotonic()
        if now - self.ticked >= TICK:
            self.ticked = now
            self.out.send({"event": "tick", "id": self.id})


class Writer:
    """Frames out. Holds the real standard output alone: descriptor 1 goes to stderr, so that no library spoils a frame."""

    def __init__(self) -> None:
        self._file = os.fdopen(os.dup(1), "wb")
        os.dup2(2, 1)

    def send(self, message: dict[str, Any]) -> None:
        self._file.write(wire.pack(message))
        self._file.flush()


class Inbox:
    """Reads frames in a thread of its own, so that a cancel is heard while the model decodes."""

    def __init__(self, source: BinaryIO, stop: threading.Event) -> None:
        self._source = source
        self._stop = stop
        self._jobs: queue.Queue[dict[str, Any]] = queue.Queue()
        self._running: int | None = None
        self._cancelled: int | None = None
        self._lock = threading.Lock()
        threading.Thread(target=self._read, daemon=True).start()

    def next(self) -> dict[str, Any]:
        message = self._jobs.get()
        with self._lock:
            self._running = message["id"]
            self._stop.clear()
            if self._cancelled == self._running:
                self._stop.set()
        return message

    def _read(self) -> None:
        while head := self._source.read(wire.HEAD):
            message = wire.take(bytearray(head + self._source.read(wire.size_of(head))))
            if message is None:
                break
            if message["op"] == "reply":
                self._jobs.put(message)
                continue
            with self._lock:
                self._cancelled = message["id"]
                if self._cancelled == self._running:
                    self._stop.set()
        os._exit(0)  # the parent is gone; the main thread may be deep in C for seconds


def _job(message: dict[str, Any], out: Writer, stop: threading.Event) -> _Job:
    segments = [(text, special) for text, special in message["segments"]]
    offers = [Offer(name=offer["name"], schema=offer["schema"]) for offer in message["offers"]]
    return _Job(message["id"], segments, offers, Sampling(**message["sampling"]), out, stop)


def _serve(engine: Engine, inbox: Inbox, out: Writer) -> None:
    while True:
        job = _job(inbox.next(), out, engine.decoder.stop)
        try:
            raw, stopped, usage = engine.answer(job)
        except _Refused as refused:
            out.send({"event": "error", "id": job.id, "kind": refused.kind, "text": str(refused)})
        except GrammarError as error:
            out.send({"event": "error", "id": job.id, "kind": "grammar", "text": str(error)})
        else:
            out.send({"event": "reply", "id": job.id, "raw": raw, "stopped": stopped, "usage": asdict(usage)})


def _settings(arguments: Sequence[str]) -> tuple[Settings, int]:
    parser = argparse.ArgumentParser(prog="python -m models.engine")
    parser.add_argument("--model", required=True)
    parser.add_argument("--context", type=int, default=8192)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--batch", type=int, default=512)
    parser.add_argument("--nice", type=int, default=10)
    parser.add_argument("--repack", action="store_true", help="faster decoding, +600 MB, cached runs may differ from cold")
    parser.add_argument("--flash-attention", action="store_true", help="cached runs may differ from cold ones")
    found = vars(parser.parse_args(arguments))
    nice = found.pop("nice")
    return Settings(**found), nice


def main() -> None:
    settings, nice = _settings(sys.argv[1:])
    os.nice(nice)
    out = Writer()
    try:
        engine = Engine(settings)
    except _LoadError as error:
        out.send({"event": "failed", "text": str(error)})
        sys.exit(1)
    out.send({"event": "ready", "settings": {**asdict(settings), "model": os.path.basename(settings.model)}})
    _serve(engine, Inbox(sys.stdin.buffer, engine.decoder.stop), out)


if __name__ == "__main__":
    main()
