"""The console script: settles what Ctrl-C does before anything is imported that takes a while."""

import gc
import os
import signal


def main() -> None:
    """``shapelog`` and ``python -m shapelog``."""
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, _leave)
    gc.disable()  # nothing that imports make is garbage; ``cli.main`` says the same of what follows
    from shapelog.cli.main import main as command

    command()


def _leave(*_: object) -> None:
    """End at once: nothing is open yet, and an exception could come out of any import."""
    os._exit(130)


if __name__ == "__main__":
    main()
