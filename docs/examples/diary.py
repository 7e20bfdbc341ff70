"""A diary: each call appends a line with today's date."""

import json
from datetime import datetime, timedelta, timezone

from componentize_py_types import Err
from wit_world import exports
from wit_world.imports import clock, files, tool_types, types

PARAMETERS = {
    "type": "object",
    "properties": {"text": {"type": "string", "description": "What happened"}},
    "required": ["text"],
    "additionalProperties": False,
}

FILE = "diary.md"


class Tool(exports.Tool):
    def describe(self) -> tool_types.PluginInfo:
        info = tool_types.PluginInfo()
        info.add_tool(tool_types.ToolInfo("diary", "Writes a line into the diary.", json.dumps(PARAMETERS)))
        return info

    def prepare(self, call: tool_types.Call) -> tool_types.Plan:
        """The user is shown the difference; `run` does exactly this."""
        plan = tool_types.Plan("")
        plan.add_append(FILE, line(call))
        return plan

    def run(self, call: tool_types.Call) -> tool_types.Output:
        try:
            edited = files.append_text(FILE, line(call))
        except Err as error:
            # An error of the host becomes a failure that the model can read.
            raise Err(failure(error.value)) from error
        output = tool_types.Output()
        output.add_text(f"The diary has {edited.lines_after} lines.")
        return output


def line(call: tool_types.Call) -> str:
    text = json.loads(call.arguments())["text"].strip()
    if not text:
        raise Err(tool_types.Failure(tool_types.FailureKind.INVALID_ARGUMENTS, "text is empty: say what happened"))
    now = clock.now_ms()
    zone = timezone(timedelta(minutes=clock.utc_offset_minutes(now)))
    return f"{datetime.fromtimestamp(now / 1000, zone):%Y-%m-%d}: {text}\n"


def failure(error) -> tool_types.Failure:
    if isinstance(error, tool_types.Failure):
        return error
    if isinstance(error, types.Error_Denied):
        return tool_types.Failure(tool_types.FailureKind.DENIED, f"writing {FILE} was denied")
    return tool_types.Failure(tool_types.FailureKind.FAILED, f"cannot write {FILE}: {getattr(error, 'value', error)}")
