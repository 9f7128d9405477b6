"""``shapelog rules`` and ``shapelog rule``."""

import click

from shapelog.cli.completion import rule_codes
from shapelog.cli.options import CommonOptions, output_options, rendering
from shapelog.cli.output import Output, write_outputs
from shapelog.reporters import formats


@click.command()
@output_options(formats("rules"), with_trace=False)
def rules(options: CommonOptions) -> int:
    """List the rules: what shapelog can find, and the remedies.

    Rule codes are stable. Run shapelog rule SL307 for an explanation of one rule.
    """
    from shapelog.rule_docs import entries

    return write_outputs(Output(rendering("rules", entries(), options)), options)


@click.command()
@click.argument("code", metavar="CODE", shell_complete=rule_codes)
@output_options(formats("rule"), with_trace=False)
def rule(code: str, options: CommonOptions) -> int:
    """Explain a rule, with an example and its remedy.

    CODE is a code such as SL307, or a name such as global-state-varies.
    """
    from shapelog.rule_docs import entry

    return write_outputs(Output(rendering("rule", entry(code), options)), options)
