"""A stdio server behind a relay that writes down each line it is sent: `python relay.py LOG [--late] COMMAND…`.

With --late it keeps `notifications/initialized` back until the first tool call has passed: a server that adds tools once it is
told of the client's capabilities then adds them in the middle of a ticket.
"""

import subprocess
import sys
import threading

log_path, *command = sys.argv[1:]
late = command[0] == "--late"
command = command[1:] if late else command
child = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
assert child.stdin
assert child.stdout


def back() -> None:
    for line in child.stdout:  # type: ignore[union-attr]
        sys.stdout.buffer.write(line)
        sys.stdout.buffer.flush()


threading.Thread(target=back, daemon=True).start()
kept: list[bytes] = []
try:
    with open(log_path, "ab") as log:
        for line in sys.stdin.buffer:
            log.write(line)
            log.flush()
            if late and b'"notifications/initialized"' in line:
                kept.append(line)
                continue
            child.stdin.write(line)
            if b'"tools/call"' in line:
                child.stdin.writelines(kept)
                kept.clear()
            child.stdin.flush()
except BrokenPipeError:
    pass
child.stdin.close()
sys.exit(child.wait())
