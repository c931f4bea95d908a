"""Recorded replies until the real model is there; nothing waits inside a call, and nothing recorded is given out once it is."""

from __future__ import annotations

from pathlib import Path

import pytest

from models.errors import ModelSetupError, NotReadyError
from models.port import Message, Model, Request
from models.recorded import RecordedModel
from models.recorder import Recorder
from models.scripted import ScriptedModel, say
from models.standby import StandbyModel

pytestmark = pytest.mark.anyio


def asking(text: str) -> Request:
    return Request((Message("user", text),), (), ())


async def recorded(folder: Path, text: str) -> RecordedModel:
    async with Recorder(ScriptedModel([say("from the recording")]), folder) as recorder:
        await recorder.reply(asking(text))
    return RecordedModel(folder)


async def test_before_the_real_model_is_there_recordings_answer_and_others_are_put_off(tmp_path: Path) -> None:
    made: list[Model] = []
    model = StandbyModel(await recorded(tmp_path, "known"), lambda: made[0], lambda: False)
    async with model:
        assert (await model.reply(asking("known"))).text == "from the recording"
        assert model.info.kind == "recorded"
        with pytest.raises(NotReadyError):
            await model.reply(asking("never recorded"))
    assert made == []


async def test_once_it_is_there_the_real_model_answers_everything(tmp_path: Path) -> None:
    ready: list[bool] = []
    live = ScriptedModel([say("live"), say("live again")])
    model = StandbyModel(await recorded(tmp_path, "known"), lambda: live, lambda: bool(ready))
    async with model:
        await model.reply(asking("known"))
        ready.append(True)
        assert (await model.reply(asking("known"))).text == "live"
        assert (await model.reply(asking("never recorded"))).text == "live again"
        assert model.info == live.info


async def test_a_real_model_that_cant_be_opened_leaves_the_recordings(tmp_path: Path) -> None:
    def broken() -> Model:
        raise ModelSetupError("no model file: run `deskhand model fetch`")

    model = StandbyModel(await recorded(tmp_path, "known"), broken, lambda: True)
    async with model:
        assert (await model.reply(asking("known"))).text == "from the recording"
