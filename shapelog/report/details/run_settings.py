"""Settings and versions that differ between two runs, and settings that change in the middle of one."""

from collections.abc import Iterator, Mapping
from itertools import pairwise
from typing import Any, NamedTuple

from shapelog.model.compile import Compile
from shapelog.model.trace import Trace
from shapelog.report.details.metric_fields import SettingChange, settings_between

# Fields of the metrics, and what their versions are of.
_VERSIONS = {"pytorch_version": "PyTorch", "python_version": "Python", "cuda_version": "CUDA", "triton_version": "Triton"}


class ChangedSetting(NamedTuple):
    """A setting that has another value from ``compile`` on."""

    compile: Compile
    setting: SettingChange


def settings_of_runs(before: Trace, after: Trace) -> tuple[SettingChange, ...]:
    """Versions and settings with which two runs began, where both record them and they differ.

    Versions come first, and settings that one version of PyTorch alone has come last.
    """
    one, other = _first_fields(before), _first_fields(after)
    versions = [
        SettingChange(name, str(one[field]).split()[0], str(other[field]).split()[0])
        for field, name in _VERSIONS.items()
        if one.get(field) and other.get(field) and one[field] != other[field]
    ]
    return (*versions, *sorted(settings_between(one, other), key=lambda setting: not setting.is_in_both))


def changed_settings(trace: Trace) -> Iterator[ChangedSetting]:
    """Settings that a process changed between one compilation and the next, in order; on several ranks the same change once."""
    known: set[tuple[str, SettingChange]] = set()
    for rank in trace.ranks:
        compiles = sorted((compile for frame in rank.frames for compile in frame.compiles), key=lambda compile: compile.order)
        recorded = [compile for compile in compiles if compile.metrics.settings_checksum is not None]
        for one, other in pairwise(recorded):
            if one.metrics.settings_checksum == other.metrics.settings_checksum:
                continue
            for setting in settings_between(one.metric_fields, other.metric_fields):
                if (other.label, setting) not in known:
                    known.add((other.label, setting))
                    yield ChangedSetting(other, setting)


def _first_fields(trace: Trace) -> Mapping[str, Any]:
    """The fields of the first compile whose settings are recorded."""
    compiles = (compile for compile in trace.compiles if compile.metrics.settings_checksum is not None)
    first = min(compiles, key=lambda compile: (compile.rank or 0, compile.order), default=None)
    return first.metric_fields if first else {}
