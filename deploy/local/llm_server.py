"""Script: `llm_server.py MODEL.gguf PORT THREADS CONTEXT` serves OpenAI's API on loopback until SIGTERM.

llama.cpp's server, in a process of its own. It imports nothing of Magma and fetches nothing.
"""

import os
import signal
import sys

import xllamacpp

LOOPBACK = "127.0.0.1"
STOP_SIGNALS = (signal.SIGTERM, signal.SIGINT)


def main() -> None:
    """Serve until told to stop."""
    # Before any thread starts, so that all inherit it: a signal that comes early waits for `sigwait`.
    signal.pthread_sigmask(signal.SIG_BLOCK, STOP_SIGNALS)
    path, port, threads, context = sys.argv[1:5]
    params = xllamacpp.CommonParams()
    params.model.path = path
    params.offline = True
    params.n_ctx = int(context)
    params.n_parallel = 1
    params.cpuparams.n_threads = int(threads)
    params.cpuparams.poll = 0  # polling threads on shared cores make each other wait
    params.hostnames = [LOOPBACK]
    params.port = int(port)
    server = xllamacpp.Server(params)  # listens in threads of its own
    signal.sigwait(STOP_SIGNALS)
    del server
    os._exit(0)  # a request that is being answered must not hold the process


if __name__ == "__main__":
    main()
