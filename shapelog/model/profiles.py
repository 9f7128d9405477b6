"""The list of dynamic sources that PyTorch's own profile (PGO) came to: what it suggested, or would have."""

from shapelog.model.trace import Trace


def suggested(trace: Trace) -> tuple[str, ...]:
    """The sources in PyTorch's last suggestion, those of all processes together; () where it made none, as torch 2.6 never does."""
    return tuple(dict.fromkeys(source for profile in trace.code_states for source in profile.last.state.suggestion))


def would_suggest(trace: Trace) -> tuple[str, ...]:
    """The same, rebuilt from what PGO knew where no suggestion was written. () without a code state in the trace."""
    states = [profile.last.state for profile in trace.code_states]
    return tuple(dict.fromkeys(source for state in states for source in state.suggestion or state.dynamic_sources))
