"""The console script: sets the handler of Ctrl-C before the imports that take a while."""

import _signal  # type: ignore[import-not-found]  # what signal is made of, which takes longer to import than all else here
import os


def main() -> None:
    """``shapelog`` and ``python -m shapelog``."""
    if _signal.getsignal(_signal.SIGINT) is _signal.default_int_handler:
        _signal.signal(_signal.SIGINT, _exit)
    try:
        import gc

        gc.disable()  # a trace consists of many small objects that live until the program ends, so a collection only costs time
        from shapelog.cli.main import main as command
    except OSError as error:  # a module cannot be read: too many open files
        os.write(2, f"shapelog: cannot start: {error.strerror}\n".encode())
        os._exit(2)
    command()


def _exit(*_: object) -> None:
    """End at once: nothing is open yet, and an exception could be raised out of any import."""
    os._exit(130)


if __name__ == "__main__":
    main()
