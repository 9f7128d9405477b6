"""The index of extracted payloads as JSON; ``shapelog/schema/extraction.schema.json`` describes it. Paths have slashes."""

from typing import Any

from shapelog import __version__
from shapelog.extract.extraction import ExtractedCompile, ExtractedFile, Extraction
from shapelog.reporters.json.parts import time_data

# 1: first shape. 2: null for seconds that are not known.
FORMAT_VERSION = 2


def extraction_data(extraction: Extraction) -> dict[str, Any]:
    return {
        "format": "shapelog extraction",
        "format_version": FORMAT_VERSION,
        "version": __version__,
        "is_complete": extraction.is_complete,
        "trace": extraction.trace,
        "torch_version": extraction.torch_version or None,
        "processes": [
            {
                "rank": item.rank,
                "process": item.process,
                "directory": item.directory,
                "compiles": [_compile(compile) for compile in item.compiles],
                "outside": [_file(file) for file in item.outside],
            }
            for item in extraction.processes
        ],
        "not_written": [
            {
                "kind": item.kind,
                "name": item.name or None,
                "compile": item.compile or None,
                "file": item.file,
                "offset": item.offset,
                "reason": item.reason,
            }
            for item in extraction.left_out
        ],
        "problems": [
            {"code": item.code, "severity": item.severity, "file": item.file, "line": item.line or None, "message": item.message}
            for item in extraction.problems
        ],
        "unreadable": list(extraction.unreadable),
    }


def _compile(compile: ExtractedCompile) -> dict[str, Any]:
    return {
        "id": compile.label,
        "directory": compile.directory,
        "function": compile.function,
        "file": compile.file or None,
        "line": compile.line or None,
        "outcome": compile.outcome,
        "seconds": time_data(compile.seconds, 1),
        "attempts": compile.attempts,
        "files": [_file(file) for file in compile.files],
    }


def _file(file: ExtractedFile) -> dict[str, Any]:
    return {
        "path": file.path,
        "kind": file.kind,
        "name": file.name or None,
        "attempt": file.attempt,
        "size": file.size,
        "md5": file.digest or None,
        "verbatim": file.is_verbatim,
        "problem": file.problem or None,
    }
