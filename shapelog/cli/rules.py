"""``shapelog rules`` and ``shapelog rule``."""

import sys

import click

from shapelog.cli.options import CommonOptions, output_options, reporter_options
from shapelog.cli.output import Output, errors_end_the_program, write_outputs
from shapelog.reporters import RULES_FORMATS


@click.command()
@output_options(RULES_FORMATS, with_trace=False)
def rules(options: CommonOptions) -> None:
    """List the rules: what shapelog can tell, and what helps.

    Each has a code that never changes its meaning. shapelog rule SL307 tells more about one.
    """
    from shapelog.reporters import rules_reporter
    from shapelog.rule_docs import entries

    with errors_end_the_program():
        found = entries()
    output = Output(lambda target: rules_reporter(target.format).render_rules(found, reporter_options(options, target)))
    sys.exit(write_outputs(output, options.output))


@click.command()
@click.argument("code", metavar="CODE")
@output_options(RULES_FORMATS, with_trace=False)
def rule(code: str, options: CommonOptions) -> None:
    """Tell what a rule means, with an example and its cure.

    CODE is a code such as SL307, or a name such as global-state-varies.
    """
    from shapelog.reporters import rules_reporter
    from shapelog.rule_docs import entry

    with errors_end_the_program():
        found = entry(code)
    output = Output(lambda target: rules_reporter(target.format).render_rule(found, reporter_options(options, target)))
    sys.exit(write_outputs(output, options.output))
