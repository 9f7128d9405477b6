"""The README shows what the program prints."""

import re
from pathlib import Path

from command_line import call

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")


def test_the_output_in_the_readme_is_what_the_report_prints() -> None:
    (shown,) = re.findall(r"^```\n(warning\[.*?)^```$", README, re.M | re.S)
    printed = call("report", str(ROOT / "fixtures" / "real" / "demo.log.gz"), "--width", "100").stdout.split("\n")
    lines = [line for line in shown.split("\n") if line.strip() and not line.strip().endswith("...")]
    assert len(lines) > 12
    assert [line for line in lines if line not in printed] == []


def test_the_answer_to_a_pasted_text_in_the_readme_is_what_the_report_prints() -> None:
    (shown,) = re.findall(r"^```\n(14_pytorch.*?)^```$", README, re.M | re.S)
    pasted = ROOT / "fixtures" / "text_logs" / "pasted" / "14_pytorch-pytorch_161119.txt"
    printed = call("report", str(pasted), "--width", "100").stdout.split("\n")
    assert [line for line in shown.split("\n") if line not in printed] == []


def test_every_document_that_the_documents_link_to_is_there() -> None:
    for document in (ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))):
        for target in re.findall(r"\]\((?!https?:|#)([\w./-]+\.(?:md|yml))", document.read_text(encoding="utf-8")):
            assert (document.parent / target).exists(), f"{document.name}: {target}"
