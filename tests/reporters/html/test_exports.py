"""Exports on the page: the verdict, findings with their lines, the program; none of the code without sources."""

from recorded import report_of

from shapelog.reporters import Options, renderer


def page(name: str, with_source: bool = True) -> str:
    return renderer("report", "html")(report_of(f"real/2.13/{name}.log.gz"), Options(with_source=with_source)).decode()


def test_the_page_answers_first_what_came_of_the_exports() -> None:
    text = page("export_draft")
    assert "1 export succeeded, with 2 assumptions." in text
    assert 'id="exports"' in text
    assert "ExportedProgram:" in text


def test_a_page_without_exports_has_no_such_part() -> None:
    assert 'id="exports"' not in renderer("report", "html")(report_of("lab/batch_varies.log.gz"), Options()).decode()


def test_without_sources_no_line_of_code_and_no_path_is_on_the_page() -> None:
    for name in ("export_draft", "export_data_dependent", "export_violation"):
        text = page(name, with_source=False).split('id="exports"')[1].split('<section class="page"')[0]
        for secret in ("limit.item()", "kept = count(x)", "if n &gt; 4:", "mask.nonzero()", "/srv/ml", "x.view(-1, 4)", "torch.rand(8, 2)"):
            assert secret not in text, (name, secret)


def test_each_condition_opens_to_the_operations_behind_it() -> None:
    text = page("export_draft").split("Where the conditions of draft export 1 come from")[1]
    assert '<ul class="trie">' in text
    assert "from data" in text
