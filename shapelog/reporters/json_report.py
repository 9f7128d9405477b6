"""The report as JSON, for programs."""

import orjson

from shapelog.report import Report, as_data
from shapelog.reporters import Options
from shapelog.story import Story, story_data

SUFFIX = ".json"


def render(report: Report, options: Options) -> bytes:
    return orjson.dumps(as_data(report), option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE)


def render_story(story: Story, options: Options) -> bytes:
    return orjson.dumps(story_data(story), option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE)
