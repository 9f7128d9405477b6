"""Numbers for what the loop over a trace knows by name: a label is a kind or ``artifact`` with its name, as it stands in the file."""

from shapelog.reading.kinds import UNLISTED_KINDS, USED_ARTIFACTS, USED_KINDS

# Start and stop of a record; then, if it looks well-formed and its kind is wanted, where its JSON begins and ends, the number of its
# label and its process. For a record that has to be looked at more closely the last four are -1. For a listing there are also places
# of records that are only counted, with the numbers behind those of the wanted ones.
Place = tuple[int, int, int, int, int, int]

# What is decoded: label and kind by number.
LABELS = [(kind.encode(), kind) for kind in sorted(USED_KINDS)]
LABELS += [(b"artifact " + name.encode(), "artifact") for name in sorted(USED_ARTIFACTS)]
# Of events, only this one is decoded. No kind or name in a file is a label with a blank behind ``chromium_event``.
LABELS.append((b"chromium_event automatic_dynamic", "chromium_event"))
NUMBERS: dict[bytes | None, int] = {label: number for number, (label, _) in enumerate(LABELS)}
AUTOMATIC = NUMBERS[LABELS[-1][0]]
# Those of them that a listing holds.
LISTED = frozenset(number for number, (_, kind) in enumerate(LABELS) if kind not in UNLISTED_KINDS)

# Those that are many and never decoded: the loop counts them on the way.
_COUNTED_LABELS = (
    "chromium_event",
    "describe_storage",
    "dump_file",
    "aot_inference_graph",
    "aot_forward_graph",
    "aot_backward_graph",
    "aot_joint_graph",
    "inductor_output_code",
    "artifact aot_forward_graph_fw_metadata",
    "artifact torch._functorch.config",
    "artifact dynamo_side_effects",
    "artifact runtime_wrapper_orchestration",
    "artifact fx_graph_runnable",
    "artifact before_pre_grad_graph",
    "artifact after_pre_grad_graph",
    "artifact before_joint_graph",
    "artifact after_joint_graph",
    "artifact before_post_grad_graph",
    "artifact after_post_grad_graph",
    "artifact inductor_post_grad_graph",
    "artifact backward_prologue",
    "artifact backward_epilogue",
    "artifact compiled_function_forward",
    "artifact compiled_function_backward",
    "artifact compiled_fn_wrapper",
    "artifact aot_autograd_runtime_wrappers",
    "inductor_pre_grad_graph",
    "inductor_post_grad_graph",
)
# They have the numbers behind; -1 where no listing holds them.
FIRST_COUNTED = len(LABELS)
COUNTED: dict[bytes, int] = {
    label.encode(): -1 if label in UNLISTED_KINDS else number for number, label in enumerate(_COUNTED_LABELS, FIRST_COUNTED)
}

# Kind and artifact's name, "" for other kinds, of each number.
NAMES = tuple((kind, name) for kind, _, name in (label.partition(" ") for label in (*(a.decode() for a, _ in LABELS), *_COUNTED_LABELS)))
