"""Shared by the model tests. One engine for a file: loading takes two seconds, and what it keeps is part of what is tested."""

import warnings
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import llama_cpp
import pytest
from llguidance import LLTokenizer
from llguidance.llamacpp import lltokenizer_from_vocab

from models import catalogue
from models.engine import Vocabulary
from models.llama import EngineSettings, LlamaModel

# Here, because a fixture may be asked for inside a running loop, where reading is forbidden.
EMBEDDED = catalogue.cache_dir() / catalogue.default(catalogue.load()).file


@pytest.fixture(scope="module")
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(scope="session")
def model_path() -> Path:
    if not EMBEDDED.is_file():
        pytest.fail(f"no model file {EMBEDDED}: run `make install`")
    return EMBEDDED


@pytest.fixture(scope="session")
def engine_settings() -> EngineSettings:
    """At the tests' own priority: the engine's low one would wait for whatever else runs here."""
    return EngineSettings(context=2048, niceness=0)


@pytest.fixture(scope="module")
async def llama(model_path: Path, engine_settings: EngineSettings) -> AsyncIterator[LlamaModel]:
    async with LlamaModel(model_path, engine_settings) as model:
        await model.start()
        yield model


@dataclass(frozen=True)
class Real:
    """The model file's own words: its chat template, its tokens, and llguidance's view of them. No weights are loaded."""

    template: str
    vocabulary: Vocabulary
    grammar_tokens: LLTokenizer


@pytest.fixture(scope="session")
def real(model_path: Path) -> Iterator[Real]:
    parameters = llama_cpp.llama_model_default_params()
    parameters.vocab_only = True
    model: Any = llama_cpp.llama_model_load_from_file(str(model_path).encode(), parameters)
    handle = llama_cpp.llama_model_get_vocab(model)
    template = llama_cpp.llama_model_chat_template(model, None).decode()
    with warnings.catch_warnings():  # llguidance calls an old name of a llama.cpp function once for each of 151,936 tokens
        warnings.simplefilter("ignore", DeprecationWarning)
        grammar_tokens = lltokenizer_from_vocab(handle)
    yield Real(template, Vocabulary(handle), grammar_tokens)
    llama_cpp.llama_model_free(model)
