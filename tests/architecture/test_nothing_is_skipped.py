"""The guard of tests/conftest.py, proven: a test or a file that skips itself turns the run red."""

import shutil
import subprocess
import sys

import pytest

SKIPS = {
    "a test": "import pytest\ndef test_x(): pytest.skip('no browser')",
    "a marked test": "import pytest\n@pytest.mark.skipif(True, reason='no browser')\ndef test_x(): pass",
    "a file": "import pytest\npytest.importorskip('no_such_module_here', reason='no browser')\ndef test_x(): pass",
}


@pytest.mark.parametrize("source", SKIPS.values(), ids=SKIPS.keys())
def test_a_planted_skip_is_red_and_says_why(tree, tmp_path, source):
    shutil.copy2(tree.root / "tests" / "conftest.py", tmp_path)
    (tmp_path / "test_planted.py").write_text(source)
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--rootdir", str(tmp_path), str(tmp_path)]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode in (1, 2), done.stdout
    assert "no browser" in done.stdout
