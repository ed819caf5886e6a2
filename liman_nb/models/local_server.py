"""The child process of the local model: a llama.cpp server that ends with its parent.

Run as a script, with nothing of `liman_nb` imported. The parent writes one JSON line to standard
input and then keeps it open; when it closes, for whatever reason, including a parent that was
killed, this process ends. The answer is one JSON line on standard output: the server's address, and
whether the model's chat template has a place for tools. Everything else that is printed, here or in
C++, goes to standard error.
"""

from __future__ import annotations

import http.client
import json
import os
import signal
import sys
import threading
from typing import Any


def main() -> None:
    """Read the settings, load the model, say where it listens, and serve until the parent ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # interrupting a notebook is not for this process
    answer = _take_stdout()
    settings = json.loads(sys.stdin.readline())
    watcher = threading.Thread(target=_end_with_parent, daemon=True)
    watcher.start()
    server = _start(settings)
    with os.fdopen(answer, "w", encoding="utf-8") as parent:
        said = {"address": server.listening_address, "tools": _knows_tools(server, settings["key"])}
        parent.write(json.dumps(said) + "\n")
    watcher.join()


def _take_stdout() -> int:
    """Keep standard output for the one answer, and send whatever is printed to standard error."""
    answer = os.dup(1)
    os.dup2(2, 1)
    return answer


def _end_with_parent() -> None:
    """Wait for the end of standard input, then end at once, in the middle of whatever goes on."""
    while os.read(0, 4096):
        pass
    os._exit(0)


def _start(settings: dict[str, Any]) -> Any:
    import xllamacpp

    params = xllamacpp.CommonParams()
    params.model.path = settings["path"]
    params.model_alias = {settings["name"]}
    params.api_keys = [settings["key"]]
    params.hostnames = ["127.0.0.1"]
    params.port = 0  # any free one
    params.cors_origins = "null"  # no web page may ask, not even with the key
    params.cors_credentials = False
    params.ui = False
    params.endpoint_slots = False
    params.n_ctx = settings["context_tokens"]
    params.n_parallel = 1  # one after the other: the same question gets the same answer
    params.cache_ram_mib = 0  # requests ask for no prompt cache: its answers differ
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = settings["threads"]
    params.verbosity = 2  # errors and warnings; never what is said
    return xllamacpp.Server(params)


def _knows_tools(server: Any, key: str) -> bool:
    """What the server says of its chat template; a server that says nothing is believed to."""
    host = server.listening_address.removeprefix("http://")
    connection = http.client.HTTPConnection(host)
    connection.request("GET", "/props", headers={"Authorization": f"Bearer {key}"})
    capabilities = json.load(connection.getresponse()).get("chat_template_caps", {})
    connection.close()
    return bool(capabilities.get("supports_tools", True))


if __name__ == "__main__":
    main()
