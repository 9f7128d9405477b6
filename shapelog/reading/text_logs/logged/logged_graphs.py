"""The graphs of a log, and the functions that they name."""

import re

from shapelog.reading.text_logs.contents import LogContents
from shapelog.reading.text_logs.lines.log_lines import Head
from shapelog.reading.text_logs.logged.logged_breaks import LoggedBreaks
from shapelog.reading.text_logs.logged.logged_compile import LoggedCompile
from shapelog.reading.text_logs.logged.logged_compiles import LoggedCompiles
from shapelog.reading.text_logs.messages.logged_code import LoggedCode

_GRAPH_BEGIN = re.compile(r"^\s*(?:.*?\s)?(?=class GraphModule\(torch\.nn\.Module\):)")
_FORWARD_GRAPH = re.compile(r"^ *===== Forward graph \d")
_MADE_BY_DYNAMO = re.compile(r"===== __compiled_fn_")
_IN_GRAPH = re.compile(r"# File: (?P<file>.+?):(?P<line>\d{1,9}) in (?P<name>\S+?), code: ?(?P<code>.*)")


class LoggedGraphs:
    """Takes the messages with graphs. ``graph_breaks`` has the functions that break one, which a compile is not of alone."""

    def __init__(self, compiles: LoggedCompiles, contents: LogContents, graph_breaks: LoggedBreaks) -> None:
        self._compiles = compiles
        self._contents = contents
        self._graph_breaks = graph_breaks

    def take(self, head: Head, lines: list[str]) -> None:
        """The graphs that Dynamo made, as ``graph_code`` has them."""
        parts: list[list[str]] = []
        for line in lines:
            if line.strip() == "TRACED GRAPH":
                parts.append([])
            elif parts:
                parts[-1].append(line)
        if not parts and (cut := self._compiles.known(head)):
            cut.lost_graph = True
        for part in parts:
            if not part or not _MADE_BY_DYNAMO.search(part[0]) or "pre insert" in part[0]:
                continue
            begin = next((at for at, line in enumerate(part) if "class GraphModule" in line), None)
            compile = self._compiles.compile_of(head, "graph") if begin is not None else None
            if compile is None or begin is None:
                continue
            self._contents.messages["graph_code"] += 1
            payload = "\n".join([_GRAPH_BEGIN.sub("", part[begin]), *part[begin + 1 :]]).rstrip() + "\n"
            self._name(compile, payload)
            self._compiles.start(compile)
            compile.has_graph = True
            sizes = {"symbols": ["s"]} if '"Sym(' in payload else {}
            self._compiles.write(compile, {"dynamo_output_graph": {"sizes": sizes}}, payload)

    def take_after_autograd(self, head: Head, lines: list[str]) -> None:
        """Which compile it is of, and of which function. Its inputs have no names of sources, so sizes are not taken from it."""
        compile = self._compiles.compile_of(head, "") if any(map(_FORWARD_GRAPH.search, lines)) else None
        if compile is not None:
            self._contents.messages["aot_graphs"] += 1
            self._name(compile, "\n".join(lines))
            self._compiles.start(compile)

    def _name(self, compile: LoggedCompile, graph: str) -> None:
        """The function of a compile that nothing else names, where all of its operations are in one, or in one that breaks the graph."""
        places = list(_IN_GRAPH.finditer(graph))
        for found in places:
            self._compiles.know(found["file"])
        broken = self._graph_breaks.functions_of(compile)
        named = [found for found in places if not broken or (found["file"], found["name"]) in broken]
        if not compile.code.name and len({(found["file"], found["name"]) for found in named}) == 1:
            first = named[0]
            compile.code = LoggedCode(first["name"], first["file"], int(first["line"]))
