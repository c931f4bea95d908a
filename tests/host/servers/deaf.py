"""A stdio server that answers the listing and then stops reading, so that the pipe to it fills up."""

import sys
import time

import raw

for line in sys.stdin:
    message = raw.json.loads(line)
    if message["method"] == "tools/call":
        time.sleep(3600)
    if (reply := raw.answer(message)) is not None:
        print(raw.json.dumps(reply), flush=True)
