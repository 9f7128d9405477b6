"""The console script: sets the handler of Ctrl-C before the imports that take a while."""

import gc
import os
import signal


def main() -> None:
    """``shapelog`` and ``python -m shapelog``."""
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, _exit)
    gc.disable()  # a trace consists of many small objects that live until the program ends, so a collection only costs time
    from shapelog.cli.main import main as command

    command()


def _exit(*_: object) -> None:
    """End at once: nothing is open yet, and an exception could be raised out of any import."""
    os._exit(130)


if __name__ == "__main__":
    main()
