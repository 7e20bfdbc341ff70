"""{{name}}: counts the words of a text file.

The files are real ones: `open` asks the user, or fails with PermissionError.
"""

import json
from pathlib import Path

from componentize_py_types import Err
from wit_world import exports
from wit_world.exports import tool
from wit_world.imports import types

PARAMETERS = "@param file_path {string} [required] The file, relative to the project"


def count(text: str) -> int:
    return len(text.split())


class Tool(exports.Tool):
    def describe(self) -> tool.PluginInfo:
        """What the model is told. Kept for as long as the plugin stays the same."""
        return tool.PluginInfo(
            contract="0.1.0",
            life=tool.Life.CALL,
            tools=[
                tool.ToolInfo(
                    name="{{name}}",
                    description="Counts the words of a text file.",
                    parameters=tool.Parameters_Lines(PARAMETERS),
                    annotations=[],
                )
            ],
            annotations=[],
        )

    def prepare(self, call: tool.Call) -> tool.Plan:
        """What the call will touch: the question for the user is made of it."""
        path = json.loads(call.arguments)["file_path"]
        need = types.Need(types.Target_Path(path), types.Operation.READ)
        return tool.Plan(f"Count the words of '{path}'?", [need], [])

    def run(self, call: tool.Call) -> list[tool.Content]:
        """The work."""
        path = json.loads(call.arguments)["file_path"]
        try:
            text = Path(path).read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            message = f"cannot read {path}: {error}"
            raise Err(tool.Failure(tool.FailureKind.FAILED, message)) from error
        return [tool.Content_Text(f"{count(text)} words")]
