"""Runs a stdio server and writes every line it is sent to a file: `python tee.py LOG COMMAND…`."""

import subprocess
import sys
import threading

log_path, *command = sys.argv[1:]
child = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
assert child.stdin
assert child.stdout


def back() -> None:
    for line in child.stdout:  # type: ignore[union-attr]
        sys.stdout.buffer.write(line)
        sys.stdout.buffer.flush()


pump = threading.Thread(target=back, daemon=True)
pump.start()
try:
    with open(log_path, "ab") as log:
        for line in sys.stdin.buffer:
            log.write(line)
            log.flush()
            child.stdin.write(line)
            child.stdin.flush()
except BrokenPipeError:
    pass
child.stdin.close()
sys.exit(child.wait())
