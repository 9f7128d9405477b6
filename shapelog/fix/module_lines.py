"""Lines after the imports of a program: the list of dynamic sources, and settings, with the import of torch where a file lacks it."""

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from shapelog.fix.callers import entry_line
from shapelog.fix.edits import Edit
from shapelog.fix.imports import IMPORT, after_imports, torch_name
from shapelog.fix.source_files import CannotPlaceError, FileNotFoundHereError, SourceFile, SourceTree
from shapelog.model.frame import Frame
from shapelog.reading.records import StackFrame


@dataclass(slots=True)
class ModuleLines:
    """Assignments to add, by file: each in the words that follow the name of torch, with the suggestions that it is for."""

    tree: SourceTree
    assignments: dict[str, list[tuple[str, tuple[str, ...]]]] = field(default_factory=dict)
    files: dict[str, SourceFile] = field(default_factory=dict)

    def file_for(self, frames: Sequence[Frame], option: str, wanted: str) -> SourceFile:
        """The file of the outermost line of the user's that led to these frames, which runs before all others, else that of their code.

        Raises CannotPlaceError where no file can be changed, or where it sets the option already, to something other than ``wanted``,
        and for code that runs in a thread, which does not have the settings of the module.
        """
        if own_thread := next((frame.title for frame in frames if frame.is_in_thread), ""):
            raise CannotPlaceError(f"{own_thread} runs in a thread, which has settings of its own: {wanted} there")
        entries = [entry for frame in frames for compile in frame.compiles if (entry := entry_line(compile))]
        own = [StackFrame(frame.file, 0, "") for frame in frames[:1]]
        refusal = CannotPlaceError("the trace does not name a file of the program")
        for place in dict.fromkeys((*entries, *own)):
            try:
                file = self.tree.file(place.file)
            except CannotPlaceError as error:
                refusal = refusal if isinstance(refusal, FileNotFoundHereError) else error
                continue
            if place.name == "<module>" and place.line < after_imports(file):
                raise CannotPlaceError(f"{file.name}:{place.line} runs before the imports end")
            for node in ast.walk(file.tree):
                if _sets(node, option):
                    raise CannotPlaceError(f"{file.name}:{getattr(node, 'lineno', 1)} sets {option} already: {wanted}")
            return file
        raise refusal

    def add(self, file: SourceFile, assignment: str, ids: tuple[str, ...]) -> None:
        """``assignment`` without the name of torch: ``compiler.config.dynamic_sources = ...``."""
        self.files[file.path] = file
        self.assignments.setdefault(file.path, []).append((assignment, ids))

    def edits(self) -> Iterator[tuple[SourceFile, Edit]]:
        for path, assignments in self.assignments.items():
            file = self.files[path]
            name = torch_name(self.tree.names(file), file.tree.body[0])
            if not name:
                yield file, after_imports_edit(file, IMPORT, tuple(one for _, ids in assignments for one in ids))
            for number, (assignment, ids) in enumerate(assignments):
                text = f"{name or 'torch'}.{assignment}"
                yield file, after_imports_edit(file, text if number else f"\n{text}", ids)


def _sets(node: ast.AST, option: str) -> bool:
    """Whether it assigns the option, or passes it by name, as ``config.patch`` takes it."""
    if isinstance(node, ast.Attribute):
        return node.attr == option and isinstance(node.ctx, ast.Store)
    return isinstance(node, ast.keyword) and node.arg == option


def after_imports_edit(file: SourceFile, text: str, ids: tuple[str, ...]) -> Edit:
    """Lines of the module, after its imports."""
    line = after_imports(file)
    start, newline = file.start_of(line), file.newline_at(line - 1 or 1)
    text = f"{text}\n".replace("\n", newline)
    return Edit(start, start, text if not start or file.text[start - 1] == "\n" else newline + text, ids)
