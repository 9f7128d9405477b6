"""What a log has of the symbols and the guards of its compiles: one line of ``symbolic_shapes.py`` each, a tree or a list of guards."""

import re

from shapelog.reading.text_logs import versions
from shapelog.reading.text_logs.contents import LogContents
from shapelog.reading.text_logs.lines.log_lines import Head
from shapelog.reading.text_logs.lines.size_changes import SizeChanges, is_about_change
from shapelog.reading.text_logs.logged.logged_compile import LoggedCompile
from shapelog.reading.text_logs.logged.logged_compiles import UNKNOWN, LoggedCompiles
from shapelog.reading.text_logs.messages.logged_code import LoggedCode, LoggedLine
from shapelog.reading.text_logs.messages.symbol_text import AddedText, SymbolText, TrackedText, symbolic
from shapelog.text import file_name

_IN_TREE = re.compile(r"\s*(?:\| ?)*\+- \w")
_BRANCH = re.compile(r"\s*(?P<margin>(?:\| ?)*)\+- (?P<what>\w+)")
_BROKEN_OFF = re.compile(r"\s*(?:\| *)+(?=[^\s|+])")
# Lists of guards that are kept until it is known whether the text has anything else.
_MOST_OF_NONE = 40
_LISTED = re.compile(
    r"\s*(?:[A-Z_]+: )?((?:check_tensor\(|___\w+\(|__nn_module_guard_|(?:not )?hasattr\(|len\(|[LG]\[|utils_device|str\(|not [LG_]"
    r"|-?\d+ <=? [LG(]|list\(|(?:Eq|Ne)\().*)"
)
_TENSOR = re.compile(
    r"check_tensor\((?P<source>.*?), (?P<type>[\w.]+), DispatchKeySet\(.*?\), torch\.(?P<dtype>\w+), device=.*?, "
    r"requires_grad=(?P<grad>True|False)(?:, size=\[(?P<size>[^\]]*)\])?"
)


class LoggedGuards:
    """Takes the messages about symbols and guards, and writes them with the compile that they belong to."""

    def __init__(self, compiles: LoggedCompiles, contents: LogContents) -> None:
        self._compiles = compiles
        self._contents = contents
        self.changes = SizeChanges()
        self._of_none: list[tuple[Head, int, list[str]]] = []

    def take_symbols(self, head: Head, text: str) -> None:
        """One line of ``symbolic_shapes.py``, or one about a size that changed."""
        if is_about_change(text):
            self.changes.take(head, text, self._compiles.line)
            return
        if text.startswith("create_env"):
            compile = self._compiles.compile_of(head, "env")
            if compile is not None:
                self._contents.messages["dynamic"] += 1
                compile.has_env = True
                self._compiles.start(compile)
            return
        found = None if text.endswith("[statically known]") else symbolic(text)
        if found is None:
            return
        compile = self._compiles.compile_of(head, "")
        place = found.place if isinstance(found, SymbolText) and not head.compile else None
        if compile is None or _is_of_another(place, compile.code):
            compile = self._compiles.unnumbered(head, UNKNOWN, is_recompile=False)
        self._contents.messages["dynamic"] += 1
        if isinstance(found, TrackedText):
            compile.tensors.setdefault(found.source, {})[found.part, found.dim] = found.value
            return
        self._compiles.start(compile)
        if isinstance(found, SymbolText):
            compile.values[found.symbol] = found.value
            kind = "create_symbol" if found.source else "create_unbacked_symbol"
            body = {"symbol": found.symbol, "val": found.value, "vr": found.range, "source": found.source}
            compile.sources.setdefault(found.symbol, []).append(found.source)
            self._compiles.write(compile, {kind: {**body, **self._compiles.stack(found.place, found.within)}})
        elif isinstance(found, AddedText):
            compile.last_guard = found = found.placed_like(compile.last_guard)
            stack = self._compiles.stack(found.place, found.within)
            self._compiles.write(compile, {"guard_added": {"expr": found.expression, "prefix": found.how, **stack}})
            pinned = found.pinned
            if pinned is not None and pinned.symbol not in compile.pinned:
                compile.pinned[pinned.symbol] = None
                compile.waiting_pins.append(pinned)
            self._compiles.write_pins(compile, found)
        elif found.symbol not in compile.pinned:
            compile.pinned[found.symbol] = None
            compile.waiting_pins.append(found)
            if compile.last_guard is not None and compile.last_guard.may_fix(found.symbol):  # torch 2.8 and later write the guard first
                self._compiles.write_pins(compile, compile.last_guard)

    def take(self, head: Head, lines: list[str]) -> None:
        """The guards of one entry, or of torch 2.3 and older some of them."""
        lines = _unbroken(lines)
        begin = next((at for at, line in enumerate(lines) if "TREE_GUARD_MANAGER" in line or "+- RootGuardManager" in line), -1)
        tree = lines[begin:] if begin >= 0 else [line.strip() for line in lines if _IN_TREE.match(line)]
        if not tree:
            self._list_guards(head, [found[1] for line in lines if (found := _LISTED.match(line))])
            return
        compile = self._compiles.compile_of(head, "guards")
        if compile is None:
            if len(self._of_none) < _MOST_OF_NONE:
                self._of_none.append((head, self._compiles.line, tree))
        else:
            self._write_tree(compile, tree)

    def finish(self) -> None:
        """Write the guards that name no compile, where the text has nothing else about one."""
        for head, line, tree in self._of_none if self._contents.has_only_warnings else ():
            self._compiles.line = line
            self._write_tree(self._compiles.unnumbered(head, UNKNOWN, is_recompile=False), tree)

    def _write_tree(self, compile: LoggedCompile, tree: list[str]) -> None:
        payload, kind = "\n".join(["", *tree]), "dynamo_cpp_guards_str"
        self._contents.messages["guards"] += 1
        self._compiles.start(compile)
        self._describe_inputs(compile, payload)
        self._compiles.write(compile, {kind: {}}, payload)
        self._compiles.take_guards(compile)
        compile.lost_guards = not _is_whole(tree)
        self._contents.signs.update(versions.of_guards(payload))

    def _list_guards(self, head: Head, guards: list[str]) -> None:
        """Guards of torch 2.3 and older, one on a line, each perhaps a message of its own."""
        compile = self._compiles.compile_of(head, "") if guards else None
        if compile is None and guards:
            compile = self._compiles.unnumbered(head, UNKNOWN, is_recompile=False)
        if compile is not None:
            self._contents.messages["guards"] += 1
            self._compiles.start(compile)
            compile.listed += guards

    def _describe_inputs(self, compile: LoggedCompile, guards: str) -> None:
        """The tensors that a compile was called with: sizes from ``track_symint``, all else from the guards."""
        for number, found in enumerate(_TENSOR.finditer(guards)):
            tracked = compile.tensors.get(found["source"])
            if tracked is None:
                continue
            sizes, strides = ([compile.number(tracked[key]) for key in sorted(tracked) if key[0] == part] for part in ("size", "stride"))
            dims = len(found["size"].split(", ")) if found["size"] else 0
            if found["size"] is not None and (len(sizes) != dims or len(strides) not in (0, dims)):
                continue  # the log has lost some
            describes = {"describer_id": len(self._compiles), "id": number}
            tensor = {
                **describes,
                "size": sizes,
                "stride": strides,
                "dtype": f"torch.{found['dtype']}",
                "requires_grad": found["grad"] == "True",
                "is_parameter": found["type"].rpartition(".")[2] == "Parameter",
                "is_leaf": None,
                "storage_offset": compile.number(tracked.get(("", 0), "0")),
            }
            self._compiles.write(compile, {"describe_tensor": tensor})
            self._compiles.write(compile, {"describe_source": {**describes, "source": found["source"]}})


def _is_of_another(line: LoggedLine | None, code: LoggedCode) -> bool:
    """Whether a line is of a function of the same name in another file, such as another cell of a notebook."""
    return line is not None and bool(code.file) and line.name == code.name and file_name(line.file) != file_name(code.file)


def _unbroken(lines: list[str]) -> list[str]:
    """The lines of a tree, with what somebody broke off a line and wrote below it, behind the bars of the tree."""
    whole: list[str] = []
    for line in lines:
        if whole and _IN_TREE.match(whole[-1]) and (rest := _BROKEN_OFF.match(line)):
            whole[-1] = f"{whole[-1].rstrip()} {line[rest.end() :]}"
        else:
            whole.append(line)
    return whole


def _is_whole(tree: list[str]) -> bool:
    """Whether each guard of a tree is below the manager of its source; else lines are missing from it."""
    managers: list[bool] = []  # of the line above on each level
    for found in filter(None, map(_BRANCH.match, tree)):
        depth = found["margin"].count("|")
        if depth > len(managers) or not all(managers[:depth]):
            return False
        managers[depth:] = ["Manager" in found["what"]]
    return True
