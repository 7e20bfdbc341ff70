// Counts the words of a text file.

import { readFile } from 'node:fs/promises';
import { Output, Plan, PluginInfo, ToolInfo } from 'dunlin:tool/tool-types@0.1.0';
import { count } from './words.js';

const PARAMETERS = {
  type: 'object',
  properties: {
    file_path: { type: 'string', description: 'The file, relative to the project' },
  },
  required: ['file_path'],
  additionalProperties: false,
};

export const tool = {
  // What the model is told. Kept for as long as the plugin stays the same.
  describe() {
    const info = new PluginInfo();
    const description = 'Counts the words of a text file.';
    info.addTool(new ToolInfo('{{name}}', description, JSON.stringify(PARAMETERS)));
    return info;
  },

  // What the call will touch: the question for the user is made of it.
  prepare(call) {
    const path = JSON.parse(call.arguments()).file_path;
    const plan = new Plan(`Count the words of '${path}'?`);
    plan.addNeed({ target: { tag: 'path', val: path }, operation: 'read' });
    return plan;
  },

  // An exception becomes a failure with its text and place; `new Failure(kind, message)` is one in the tool's own words.
  async run(call) {
    const path = JSON.parse(call.arguments()).file_path;
    const output = new Output();
    output.addText(`${count(await readFile(path, 'utf8'))} words`);
    return output;
  },
};
