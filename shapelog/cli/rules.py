"""``shapelog rules`` and ``shapelog rule``."""

from typing import Any

import click

from shapelog.cli.options import chosen, output_options
from shapelog.cli.output import Made, finish
from shapelog.reporters import RULES_FORMATS


@click.command()
@output_options(RULES_FORMATS)
def rules(**shared: Any) -> None:
    """List the rules: what shapelog can tell, and what helps.

    Each has a code that never changes its meaning. shapelog rule SL307 tells more about one.
    """

    def make() -> Made:
        from shapelog.reporters import rules_reporter
        from shapelog.rule_docs import entries

        found = entries()
        return Made(lambda target: rules_reporter(target.format).render_rules(found, chosen(shared, target)), lambda: False)

    finish(make, shared)


@click.command()
@click.argument("code", metavar="CODE")
@output_options(RULES_FORMATS)
def rule(code: str, **shared: Any) -> None:
    """Tell what a rule means, with an example and its cure.

    CODE is a code such as SL307, or a name such as global-state-varies.
    """

    def make() -> Made:
        from shapelog.reporters import rules_reporter
        from shapelog.rule_docs import entry

        found = entry(code)
        return Made(lambda target: rules_reporter(target.format).render_rule(found, chosen(shared, target)), lambda: False)

    finish(make, shared)
