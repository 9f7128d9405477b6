"""``patches_for(report)`` → Fix: the suggestions of a report, and the settings that PyTorch's hints name, as edits of the program.

What is left out is listed with the reason.
"""

import ast
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import NamedTuple

from shapelog.advice.advise import Advice
from shapelog.advice.mark_dynamic_code import mark_function
from shapelog.advice.paste_formats import listed
from shapelog.advice.suggestions import Suggestion
from shapelog.errors import ShapelogError
from shapelog.fix.arguments import Argument, Callee, argument_for, callee_in, callee_names, parameter_name
from shapelog.fix.call_sites import CallSite, call_at, line_of, same_calls
from shapelog.fix.callers import Caller, callers
from shapelog.fix.edits import Edit, FilePatch, merged
from shapelog.fix.imports import IMPORT, torch_name
from shapelog.fix.marking import CallMarks, Marking, used_names
from shapelog.fix.module_lines import ModuleLines, after_imports_edit
from shapelog.fix.names import Names
from shapelog.fix.settings import FixSetting, settings_of
from shapelog.fix.source_files import CannotPlaceError, FileNotFoundHereError, SourceFile, SourceTree, quoted_lines
from shapelog.model.compile import resumed_by
from shapelog.model.frame import Frame
from shapelog.report.alerts.collect import collect_alerts
from shapelog.report.next_steps import next_steps
from shapelog.report.report import Report
from shapelog.report.repository_paths import Repository
from shapelog.text import plural

_LIST = "dynamic_sources"


class How(Enum):
    """The code that makes a source dynamic."""

    MARKED = "mark_dynamic"
    LISTED = "dynamic_sources"


class Placed(NamedTuple):
    """A suggestion that the patch follows: with ``mark_dynamic`` before calls, or by the list, ``because`` of what rules the first out."""

    suggestion: Suggestion
    how: How
    because: str = ""

    @property
    def is_listed(self) -> bool:
        return self.how is How.LISTED


class NotPlaced(NamedTuple):
    suggestion: Suggestion
    reason: str


class Fix(NamedTuple):
    """What to change so that recompiles and graph breaks go away. ``patches`` are ordered by the names of their files."""

    advice: Advice
    placed: tuple[Placed, ...]
    not_placed: tuple[NotPlaced, ...]
    settings: tuple[FixSetting, ...]
    patches: tuple[FilePatch, ...]

    @property
    def is_any_placed(self) -> bool:
        return bool(self.placed) or any(not item.reason for item in self.settings)

    @property
    def is_any_left(self) -> bool:
        return bool(self.not_placed) or any(item.reason for item in self.settings)


def patches_for(report: Report, advice: Advice, repository: Repository) -> Fix:
    """A suggestion is followed at every call that the trace names, or, where one of those cannot be changed, by the list of sources.

    Raises ShapelogError where a file would not be valid Python, or could not be written in its encoding.
    """
    planned = _Plan(report, advice, SourceTree(repository, quoted_lines(report.trace)))
    placed: list[Placed] = []
    not_placed: list[NotPlaced] = []
    for suggestion in advice.suggestions:
        try:
            planned.mark(suggestion)
            placed.append(Placed(suggestion, How.MARKED))
        except CannotPlaceError as error:
            try:
                planned.put_on_list(suggestion)
                placed.append(Placed(suggestion, How.LISTED, str(error)))
            except CannotPlaceError as other:
                not_placed.append(NotPlaced(suggestion, _why_neither(error, other)))
    planned.finish_list()
    settings = tuple(planned.set(item) for item in settings_of(next_steps(collect_alerts(report, repository))))
    return Fix(advice, tuple(placed), tuple(not_placed), settings, tuple(planned.patches()))


def _why_neither(*refusals: CannotPlaceError) -> str:
    """Why a suggestion gets neither marks nor an entry: where a file is not found, the rest is not known."""
    missing = [item for item in refusals if isinstance(item, FileNotFoundHereError)]
    return "; ".join(dict.fromkeys(map(str, missing[:1] or refusals)))


@dataclass(slots=True)
class _Plan:
    """The edits so far: markings by file and call, and suggestions that go on the list."""

    report: Report
    advice: Advice
    tree: SourceTree
    marks: dict[str, dict[ast.stmt, CallMarks]] = field(default_factory=dict)
    listed: list[Suggestion] = field(default_factory=list)
    list_file: SourceFile | None = None
    module: ModuleLines = field(init=False)

    def __post_init__(self) -> None:
        self.module = ModuleLines(self.tree)

    def mark(self, suggestion: Suggestion) -> None:
        """Raises CannotPlaceError, and then changes nothing, where one of the calls cannot be changed."""
        marks = [item.mark for item in suggestion.seen]
        if any(mark.is_int for mark in marks):
            raise CannotPlaceError("an int cannot be marked in code")
        if marks[0].source.is_registered or "SL106" in suggestion.codes:
            raise CannotPlaceError("mark_dynamic does not affect parameters and buffers")
        dims = tuple(mark.dim for mark in marks)
        found: dict[ast.Call, Marking] = {}
        for frame in _codes(suggestion.frames):
            _check_inputs(frame, marks[0].source, max(dims))
            markings = list(self._markings(frame, suggestion, dims))
            if not markings:
                raise CannotPlaceError(f"the trace does not name the line that calls {frame.title}")
            for marking in markings:
                marking.check(self.tree.names(marking.file))
                known = self.marks.get(marking.file.path, {}).get(marking.site.statement)
                if (known and known.site.call is not marking.site.call) or any(
                    other.site.statement is marking.site.statement and call is not marking.site.call for call, other in found.items()
                ):
                    raise CannotPlaceError(f"{marking.file.name}:{marking.site.call.lineno}: another call of the statement is changed")
                found[marking.site.call] = marking
        for marking in found.values():
            by_statement = self.marks.setdefault(marking.file.path, {})
            new = CallMarks(marking.file, marking.site, self.tree.names(marking.file))
            by_statement.setdefault(marking.site.statement, new).markings.append((marking, suggestion.id))

    def _markings(self, frame: Frame, suggestion: Suggestion, dims: tuple[int, ...]) -> Iterator[Marking]:
        callee = self._callee(frame)
        traced = {(caller.place.file, caller.place.line) for caller in callers(frame)}
        for caller in callers(frame):
            self._check_caller(caller, frame)
            file = self.tree.file(caller.place.file)
            names = self.tree.names(file)
            site = call_at(names, caller.place, callee, suggestion.source)
            self._check_outside(caller.place.file, site, names)
            others = (one for one in same_calls(names, site, callee) if not self._is_inside(caller.place.file, one, names))
            for one in (site, *others):
                argument = argument_for(suggestion.source, callee, one.call, names)
                parameter = "inputs" if argument.is_item else parameter_name(suggestion.source)
                if argument.is_item and (caller.place.file, line_of(one.call)) not in traced:
                    raise CannotPlaceError(f"{file.name}:{one.call.lineno}: what the call passes with ** may lack it")
                function = "maybe_mark_dynamic" if self._may_go_on(argument, one, names, suggestion) else mark_function(suggestion.codes)
                yield Marking(file=file, site=one, argument=argument, parameter=parameter, dims=dims, function=function)

    def _may_go_on(self, argument: Argument, site: CallSite, names: Names, suggestion: Suggestion) -> bool:
        """Whether the tensor may also be passed to other compiled code, which raises at a strict mark if it needs the size."""
        own = {frame.function for frame in suggestion.frames}
        scope, passed = names.function_of(site.call), argument.node
        if scope is None or not isinstance(passed, ast.Name) or all(frame.function in own for frame in self.report.trace.frames):
            return False
        loads = (node for node in ast.walk(scope) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load))
        return any(node.id == passed.id and node is not passed for node in loads)

    def _callee(self, frame: Frame) -> Callee:
        if frame.is_library:
            return Callee(frame.name, None, None, None, callee_names(frame))
        return callee_in(frame, self.tree.names(self.tree.file(frame.file)))

    def _check_caller(self, caller: Caller, frame: Frame) -> None:
        if caller.is_certain:
            return
        for other in self.report.trace.frames:
            same_code = other.origin == frame.origin
            if not same_code and any(found.place == caller.place for found in callers(other)):
                raise CannotPlaceError("the trace does not name the line of the call with certainty")

    def _check_outside(self, path: str, site: CallSite, names: Names) -> None:
        """Raises CannotPlaceError for a call inside compiled code, where Dynamo cannot trace ``mark_dynamic``."""
        inside = self._is_inside(path, site, names)
        if inside:
            raise CannotPlaceError(f"the call is inside {inside}, which is compiled itself")

    def _is_inside(self, path: str, site: CallSite, names: Names) -> str:
        """The name of the compiled function that a call is in, "" where it is in none."""
        compiled = {(frame.file, frame.line, (resumed_by(frame.name) or (frame.name,))[0]) for frame in self.report.trace.frames}
        resumed = {(frame.file, known[0]) for frame in self.report.trace.frames if (known := resumed_by(frame.name))}
        for scope in names.scopes(site.call):
            if isinstance(scope, ast.FunctionDef | ast.AsyncFunctionDef):
                line = min([scope.lineno, *(item.lineno for item in scope.decorator_list)])
                if (path, line, scope.name) in compiled or (path, scope.name) in resumed:
                    return scope.name
        return ""

    def put_on_list(self, suggestion: Suggestion) -> None:
        """Raises CannotPlaceError where this torch reads no list, or no file can hold it."""
        if not suggestion.entries:
            raise CannotPlaceError(f"torch {self.advice.version} reads no list of dynamic sources")
        if self.list_file is None:
            self.list_file = self._file_for_list(suggestion)
        self.listed.append(suggestion)

    def _file_for_list(self, suggestion: Suggestion) -> SourceFile:
        return self.module.file_for(suggestion.frames, _LIST, f"add {','.join(suggestion.entries)}")

    def finish_list(self) -> None:
        """Puts the line that sets the list into its file, with what is on it in the trace."""
        if self.list_file:
            entries = dict.fromkeys((*self.advice.set_already, *(entry for item in self.listed for entry in item.entries)))
            self.module.add(self.list_file, f"compiler.config.{_LIST} = {listed(tuple(entries))}", tuple(item.id for item in self.listed))

    def set(self, setting: FixSetting) -> FixSetting:
        """The setting in the file whose code runs first, or with the reason why it is not."""
        labels = set(setting.step.labels)
        frames = [frame for frame in self.report.trace.frames if any(compile.label in labels for compile in frame.compiles)]
        try:
            setting.check()
            file = self.module.file_for(frames, setting.option, f"set {setting.name}")
        except CannotPlaceError as error:
            return setting._replace(reason=str(error))
        self.module.add(file, setting.text.removeprefix("torch."), (setting.id,))
        return setting

    def patches(self) -> Iterator[FilePatch]:
        imports: list[tuple[SourceFile, Edit]] = []
        marks: list[tuple[SourceFile, Edit]] = []
        for calls in self.marks.values():
            for call in calls.values():
                own = list(call.edits(used_names(call.names, call.site.call)))
                if not torch_name(call.names, call.site.call):
                    imports.append((call.file, after_imports_edit(call.file, IMPORT, own[-1].ids)))
                marks += [(call.file, edit) for edit in own]
        edits: dict[str, tuple[SourceFile, list[Edit]]] = {}
        for file, edit in (*imports, *self.module.edits(), *marks):  # in this order where they are at one place
            edits.setdefault(file.path, (file, []))[1].append(edit)
        for file, found in sorted(edits.values(), key=lambda item: item[0].name):
            patch = FilePatch(file, merged(found))
            if not patch.is_valid:  # before anything is written
                raise ShapelogError(f"{file.name}: the changed file would not be valid Python, so nothing was changed")
            yield patch


def _codes(frames: Sequence[Frame]) -> list[Frame]:
    """Each code once, however many ranks have it (one whose callers are known), without what goes on after a graph break of another one.

    Raises CannotPlaceError where nothing else is left.
    """
    found: dict[tuple[str, int, str], Frame] = {}
    for frame in frames:
        if not resumed_by(frame.name) and (frame.origin not in found or not any(callers(found[frame.origin]))):
            found[frame.origin] = frame
    if not found:
        raise CannotPlaceError("it is created before a graph break")
    return list(found.values())


def _check_inputs(frame: Frame, source: str, dim: int) -> None:
    """Raises CannotPlaceError unless the source is a tensor with enough dims in every compile that has inputs."""
    if not any(item.source == source for compile in frame.compiles for item in compile.inputs):
        raise CannotPlaceError(f"{frame.title} has no tensor of this name")
    for compile in frame.compiles:
        sizes: Mapping[str, tuple[int, ...]] = {item.source: item.size for item in compile.inputs}
        if sizes and source not in sizes:
            raise CannotPlaceError(f"the call of {compile.label} does not pass it as a tensor")
        if sizes and len(sizes[source]) <= dim:
            raise CannotPlaceError(f"in {compile.label} it has only {plural(len(sizes[source]), 'dimension')}")
