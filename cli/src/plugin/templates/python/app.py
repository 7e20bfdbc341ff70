"""{{name}}: counts the words of a text file.

The files are real ones: `open` asks the user, or fails with PermissionError.
"""

import encodings.idna  # noqa: F401  What is not imported while the component is made is not there when it runs.
import json
import traceback
from pathlib import Path

from componentize_py_types import Err
from wit_world import exports
from wit_world.imports import tool_types, types

PARAMETERS = {
    "type": "object",
    "properties": {
        "file_path": {"type": "string", "description": "The file, relative to the project"},
    },
    "required": ["file_path"],
    "additionalProperties": False,
}


def count(text: str) -> int:
    return len(text.split())


class Tool(exports.Tool):
    def describe(self) -> tool_types.PluginInfo:
        """What the model is told. Kept for as long as the plugin stays the same."""
        info = tool_types.PluginInfo()
        description = "Counts the words of a text file."
        info.add_tool(tool_types.ToolInfo("{{name}}", description, json.dumps(PARAMETERS)))
        return info

    def prepare(self, call: tool_types.Call) -> tool_types.Plan:
        """What the call will touch: the question for the user is made of it."""
        path = json.loads(call.arguments())["file_path"]
        plan = tool_types.Plan(f"Count the words of '{path}'?")
        plan.add_need(types.Need(types.Target_Path(path), types.Operation.READ))
        return plan

    def run(self, call: tool_types.Call) -> tool_types.Output:
        """The work. An exception that nobody expected becomes a failure with its text and place."""
        try:
            output = self.words(call)
            if not isinstance(output, tool_types.Output):
                raise TypeError(f"run returned {output!r}, and has to return the Output that it makes with tool_types.Output()")
            return output
        except Exception as error:
            raise Err(failure_of(error)) from error

    def words(self, call: tool_types.Call) -> tool_types.Output:
        path = json.loads(call.arguments())["file_path"]
        try:
            text = Path(path).read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            message = f"cannot read {path}: {error}"
            raise Err(tool_types.Failure(tool_types.FailureKind.FAILED, message)) from error
        output = tool_types.Output()
        output.add_text(f"{count(text)} words")
        return output


def failure_of(error: Exception) -> tool_types.Failure:
    """What the model is told of an exception: a failure of the tool's own, what the host refused, or text and place."""
    kinds = tool_types.FailureKind
    if isinstance(error, Err):
        refused = error.value
        if isinstance(refused, tool_types.Failure):
            return refused
        if isinstance(refused, types.Error_Denied):
            return tool_types.Failure(kinds.DENIED, "the user or a rule said no")
        if isinstance(refused, types.Error_NotFound):
            return tool_types.Failure(kinds.NOT_FOUND, refused.value)
        return tool_types.Failure(kinds.FAILED, str(getattr(refused, "value", refused)))
    # Nobody expected it: whoever looks for the fault finds it in the log.
    traceback.print_exception(error)
    places = traceback.extract_tb(error.__traceback__)
    # The folder of the source is /0 in a component.
    text = ", ".join(f"{place.filename.removeprefix('/0/')}:{place.lineno}" for place in places[-3:])
    return tool_types.Failure(kinds.FAILED, f"{type(error).__name__}: {error} ({text})")
