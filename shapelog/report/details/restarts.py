"""What a trace has about a restart of the analysis: what avoids it, and the floats that became constants."""

from collections.abc import Iterable

from shapelog.model.compile import Compile
from shapelog.reading.payloads.error_titles import FLOAT_RESTART, RESTART_REMEDIES
from shapelog.report.details.metric_fields import settings_in
from shapelog.text import some

# What begins the symbol of a float (``torch.utils._sympy.symbol.prefix_str``).
_FLOAT = "zf"
_MOST_FLOATS = 3
_WITHOUT_DYNAMIC = "call torch.compile without dynamic=True, which makes floats dynamic from the start, and mark the sizes that vary"


def restart_remedy(reason: str, compiles: Iterable[Compile]) -> str:
    """What avoids a restart for this reason; "" for one that belongs to how Dynamo works."""
    if reason == FLOAT_RESTART and any(map(_is_dynamic_from_start, compiles)):
        return _WITHOUT_DYNAMIC
    return RESTART_REMEDIES.get(reason, "")


def constant_floats(reason: str, compiles: Iterable[Compile]) -> tuple[str, ...]:
    """The floats that became constants, in a note; () where the trace has none, or it restarted for another reason."""
    pinned = (item for compile in compiles for item in compile.specializations if item.symbol.startswith(_FLOAT))
    named = list(dict.fromkeys(source.display_name for item in pinned for source in item.sources[:1])) if reason == FLOAT_RESTART else []
    return (f"floats that became constants: {some(named, _MOST_FLOATS)}",) if named else ()


def _is_dynamic_from_start(compile: Compile) -> bool:
    """Whether everything is dynamic at once, as under ``dynamic=True``, and not only once it has changed."""
    return settings_in(compile.metric_fields.get("dynamo_config")).get("assume_static_by_default") is False
