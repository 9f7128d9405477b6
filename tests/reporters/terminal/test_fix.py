"""A fix in a terminal: what is placed, and what is not and why, each reason once."""

from recorded import report_of

from shapelog.fix.patches import patches_for
from shapelog.report.repository_paths import Repository
from shapelog.reporters.terminal.fix import comments


def test_a_file_that_is_not_found_is_named_once_with_what_it_would_have_held() -> None:
    report = report_of("tutorial/reviews_before.log.gz")
    assert report.advice
    how = "run this where the program ran, or pass --source-root"
    lines = list(comments(patches_for(report, report.advice, Repository("/nowhere"))))
    assert lines == [
        "0 of 2 suggestions placed, in 0 files",
        f"not placed: A1 kwargs['attention_mask'], A2 kwargs['input_ids']: classify.py is not found below /nowhere: {how}",
    ]
