"""A fix in a terminal: what is placed, and what is not and why, each reason once."""

from recorded import FIXTURES, report_of

from shapelog.fix.patches import patches_for
from shapelog.report.repository_paths import Repository
from shapelog.reporters import Options
from shapelog.reporters.terminal.fix import comments, render_fix


def test_a_file_that_is_not_found_is_named_once_with_what_it_would_have_held() -> None:
    report = report_of("tutorial/reviews_before.log.gz")
    assert report.advice
    how = "run this where the program ran, or pass --source-root"
    lines = list(comments(patches_for(report, report.advice, Repository("/nowhere"))))
    assert lines == [
        "0 of 2 suggestions placed, in 0 files",
        f"not placed: A1 kwargs['attention_mask'], A2 kwargs['input_ids']: classify.py is not found below /nowhere: {how}",
    ]


def test_compilations_that_need_several_suggestions_are_not_promised_for_each() -> None:
    report = report_of("tutorial/reviews_before.log.gz")
    assert report.advice
    fix = patches_for(report, report.advice, Repository(f"{FIXTURES}/tutorial"))
    lines = render_fix(fix, Options(width=120)).decode().splitlines()
    assert [line.partition(": ")[2].partition(" (")[0] for line in lines if line.startswith("# A")] == ["needed for 0/1 0/2"] * 2
    assert "@@ -18,6 +18,8 @@ A1 kwargs['attention_mask'], A2 kwargs['input_ids']" in lines
