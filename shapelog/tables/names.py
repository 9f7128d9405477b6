"""A path or URL → the name of its job."""

import hashlib
import os
import re
from pathlib import PurePath

from shapelog.reading.trace_files import is_url, redacted_url
from shapelog.text import file_name

_UNSAFE = re.compile(r"[^A-Za-z0-9._-]+")
# The random part of the names that PyTorch gives, and what all traces have in common, name no job.
_NAMED_BY_PYTORCH = re.compile(r"^(dedicated_log_torch_trace_\w*|raw)\.log(\.\w+)?$")
_LONGEST = 60


def job_name(source: str) -> str:
    """``nightly-3f2a9c1d`` of ``/runs/nightly``: the last part of a path that means something, and a digest of the whole.

    It has letters, digits, dots, hyphens and underscores alone, and begins with a letter, so that it is safe as the name of a folder,
    and that no program takes it for a number or a date. The same source always has the same name, and two sources have different ones.
    """
    address = redacted_url(source) if is_url(source) else os.path.abspath(source)
    word = _UNSAFE.sub("-", _meaningful_part(address)).strip("-._")[:_LONGEST].strip("-._")
    digest = hashlib.blake2b(address.encode("utf-8", "surrogateescape"), digest_size=4).hexdigest()
    return f"{word if word[:1].isalpha() else f'job-{word}'.rstrip('-')}-{digest}"


def _meaningful_part(address: str) -> str:
    parts = [part for part in address.rstrip("/").split("/") if part] if is_url(address) else list(PurePath(address).parts)
    while len(parts) > 1 and _NAMED_BY_PYTORCH.match(parts[-1]):
        parts.pop()
    return file_name(parts[-1]) if parts else ""
