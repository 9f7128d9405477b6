"""``shapelog rules`` and ``shapelog rule``."""

import sys

import click

from shapelog.cli.options import CommonOptions, output_options, reporter_options
from shapelog.cli.output import Output, exit_on_error, write_outputs
from shapelog.reporters import formats, renderer


@click.command()
@output_options(formats("rules"), with_trace=False)
def rules(options: CommonOptions) -> None:
    """List the rules: what shapelog can tell, and what helps.

    Each has a code that never changes its meaning. shapelog rule SL307 tells more about one.
    """
    from shapelog.rule_docs import entries

    with exit_on_error():
        found = entries()
    output = Output(lambda target: renderer("rules", target.format)(found, reporter_options(options, target)))
    sys.exit(write_outputs(output, options.output))


@click.command()
@click.argument("code", metavar="CODE")
@output_options(formats("rule"), with_trace=False)
def rule(code: str, options: CommonOptions) -> None:
    """Tell what a rule means, with an example and its cure.

    CODE is a code such as SL307, or a name such as global-state-varies.
    """
    from shapelog.rule_docs import entry

    with exit_on_error():
        found = entry(code)
    output = Output(lambda target: renderer("rule", target.format)(found, reporter_options(options, target)))
    sys.exit(write_outputs(output, options.output))
