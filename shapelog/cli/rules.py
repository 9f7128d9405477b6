"""``shapelog rules`` and ``shapelog rule``."""

import sys

import click

from shapelog.cli.options import CommonOptions, output_options, rendering
from shapelog.cli.output import Output, exit_on_error, write_outputs
from shapelog.reporters import formats


@click.command()
@output_options(formats("rules"), with_trace=False)
def rules(options: CommonOptions) -> None:
    """List the rules: what shapelog can tell, and what helps.

    Each has a code that never changes its meaning. shapelog rule SL307 tells more about one.
    """
    from shapelog.rule_docs import entries

    with exit_on_error():
        found = entries()
    sys.exit(write_outputs(Output(rendering("rules", found, options)), options))


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
    sys.exit(write_outputs(Output(rendering("rule", found, options)), options))
