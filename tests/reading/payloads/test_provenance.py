"""Inductor's provenance: mappings of nodes and kernels, stack traces, and the lines of code of kernels."""

import pytest

from shapelog.reading.payloads.provenance import kernels_by_line, node_of, parse_mappings, parse_stacks

CODE = """cpp_fused_add_0 = async_compile.cpp_pybinding(['float*'], r'''
extern "C" void kernel(float* x)
''')
def call(args):
    # [Provenance debug handles] extern_kernels.mm:1
    extern_kernels.mm(a, b, out=buf0)
    # [Provenance debug handles] cpp_fused_add_0:2
    cpp_fused_add_0(buf0)
"""
KERNELS = ("extern_kernels.mm:1", "cpp_fused_add_0:2")


def test_mappings_of_every_version_are_read() -> None:
    found = parse_mappings(
        '{"preToPost": {"x": ["mm", "add"]}, "cppCodeToPost": {"k:1": ["mm"]}, "cudaKernelToPost": {"t": ["add"]}, "version": 2.0}'
    )
    assert found.became == {"x": ("mm", "add")}
    assert found.kernels == {"k:1": ("mm",), "t": ("add",)}


@pytest.mark.parametrize("text", ["[]", "1", '"x"', "{"])
def test_other_json_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        parse_mappings(text)


def test_entries_of_another_type_are_left_out() -> None:
    assert parse_mappings('{"preToPost": {"x": "mm", "y": ["a"]}, "cppCodeToPost": [1]}') == ({"y": ("a",)}, {})


def test_each_line_of_the_user_is_listed_once_for_a_kernel() -> None:
    stack = '  File "/srv/app/model.py", line 7, in forward\\n    x = torch.relu(x)\\n        ^^^\\n'
    (line,) = parse_stacks(f'{{"k:1": ["{stack}", "{stack}", 3]}}'.replace('File "', 'File \\"').replace('py"', 'py\\"'))["k:1"]
    assert (line.file, line.line, line.name, line.code) == ("/srv/app/model.py", 7, "forward", "x = torch.relu(x)")


def test_nodes_are_found_with_and_without_a_type() -> None:
    assert [node_of(text) for text in ('    x_1: "f32[8]" = torch.relu(x)', "    x = y", "    if x == 1:", "  # x = 1")] == [
        "x_1",
        "x",
        "",
        "",
    ]


def test_a_kernel_stands_where_it_is_defined_and_called() -> None:
    assert kernels_by_line(CODE, KERNELS) == {
        0: ("cpp_fused_add_0:2",),
        1: ("cpp_fused_add_0:2",),
        2: ("cpp_fused_add_0:2",),
        4: ("extern_kernels.mm:1",),
        5: ("extern_kernels.mm:1",),
        6: ("cpp_fused_add_0:2",),
        7: ("cpp_fused_add_0:2",),
    }


def test_without_numbers_a_kernel_is_found_by_its_name() -> None:
    code = "def call(args):\n    triton_poi_0.run(x, 8)\n    extern_kernels.mm(a, b)\n    other(x)\n"
    assert kernels_by_line(code, ("triton_poi_0", "extern_kernels.mm")) == {1: ("triton_poi_0",), 2: ("extern_kernels.mm",)}


AHEAD = """    // [Provenance debug handles] cpp_fused_0:1
    cpp_fused_0((float*)(buf0.data_ptr()));
    AtenTensorHandle buf1_handle;

    // [Provenance debug handles] aoti_torch_cpu_addmm_out:2
    static constexpr int64_t int_array_4[] = {8L, 8L};
    AOTI_TORCH_ERROR_CODE_CHECK(aoti_torch_cpu_addmm_out(buf1, buf0, arg2_1));
    arg2_1.reset();
    // [Provenance debug handles] made_elsewhere:3
    launch(buf1);
    launch(buf2);
"""


def test_in_cpp_code_a_handle_is_about_the_call_behind_its_arguments() -> None:
    kernels = ("cpp_fused_0:1", "aoti_torch_cpu_addmm_out:2", "made_elsewhere:3")
    assert kernels_by_line(AHEAD, kernels) == {
        0: kernels[:1],
        1: kernels[:1],
        4: kernels[1:2],
        5: kernels[1:2],
        6: kernels[1:2],
        8: kernels[2:],
        9: kernels[2:],
    }
