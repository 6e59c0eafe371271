"""A local language model behind an OpenAI-compatible server on loopback: `python -m deploy.local.llm MODEL`.

Extra `llm-local` (llama.cpp as `xllamacpp`). It proves the path of a model; rules are the better reader on a laptop.
"""

import argparse
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx

from deploy.local.models import MODELS, fetched, model_named
from deploy.local.ports import LOOPBACK, free_port
from deploy.local.process import Child, Command, server_environment
from memory.errors import MagmaError, MissingExtra, StackProblem

#: Run, never imported: it loads the engine.
SCRIPT = Path(__file__).with_name("llm_server.py")
CONTEXT_TOKENS = 8_192
_READY_S = 120.0
_LOOK_S = 0.1
_STOP_S = 10.0


@contextmanager
def serving(model: Path, log: Path, *, port: int | None = None, threads: int = 1) -> Iterator[str]:
    """Serve a GGUF file while held; gives the `openai_base_url`.

    The server ends with this process. Raises `MissingExtra` without the extra, `StackProblem` when it does not come up.
    """
    import importlib.util

    if importlib.util.find_spec("xllamacpp") is None:
        raise MissingExtra("xllamacpp is not installed", hint="pip install 'magma-memory[llm-local]'")
    chosen = port or free_port()
    arguments = [sys.executable, "-P", str(SCRIPT), str(model), str(chosen), str(threads), str(CONTEXT_TOKENS)]
    child = Child(Command(arguments, server_environment()), log)
    try:
        _wait_until_ready(child, chosen)
        yield f"http://{LOOPBACK}:{chosen}/v1"
    finally:
        child.ask_to_stop()
        child.wait_or_kill(time.monotonic() + _STOP_S)


def _wait_until_ready(child: Child, port: int) -> None:
    deadline = time.monotonic() + _READY_S
    while time.monotonic() < deadline:
        status = child.exit_status()
        if status is not None:
            raise StackProblem(f"the model's server stopped with status {status}: {child.last_words()}")
        try:
            if httpx.get(f"http://{LOOPBACK}:{port}/health", timeout=2.0).status_code == httpx.codes.OK:
                return
        except httpx.HTTPError:
            pass  # not up yet
        time.sleep(_LOOK_S)
    raise StackProblem(f"the model's server did not come up in {_READY_S:g} s", hint=f"see {child.log}")


def main() -> int:
    """Fetch a model if need be, serve it, and say how to use it; until Ctrl-C."""
    parser = argparse.ArgumentParser(prog="python -m deploy.local.llm", description=__doc__)
    parser.add_argument("model", choices=sorted(MODELS))
    parser.add_argument("--port", type=int, default=None)
    parser.add_argument("--threads", type=int, default=1)
    given = parser.parse_args()
    model = model_named(given.model)
    try:
        sys.stderr.write(f"{model.name}: {model.about} ({model.licence}, {model.size_bytes / 1e6:.0f} MB)\n")
        path = fetched(model)
        with serving(path, path.with_suffix(".log"), port=given.port, threads=given.threads) as url:
            sys.stdout.write(
                f"export MAGMA_LLM_PROVIDER=openai MAGMA_OPENAI_BASE_URL={url} "
                f"MAGMA_LLM_MODEL={model.name} MAGMA_LLM_TIMEOUT_S=600 MAGMA_LLM_CONCURRENCY=1\n"
            )
            sys.stdout.flush()
            while True:
                time.sleep(3_600)
    except KeyboardInterrupt:
        return 0
    except MagmaError as error:
        sys.stderr.write(f"{error}\n")
        return 1


if __name__ == "__main__":
    sys.exit(main())
