// A diary: each call appends a line with today's date.

import { nowMs, utcOffsetMinutes } from 'dunlin:tool/clock@0.1.0';
import { appendText } from 'dunlin:tool/files@0.1.0';
import { Failure, Output, Plan, PluginInfo, ToolInfo } from 'dunlin:tool/tool-types@0.1.0';

const PARAMETERS = {
  type: 'object',
  properties: { text: { type: 'string', description: 'What happened' } },
  required: ['text'],
  additionalProperties: false,
};

const FILE = 'diary.md';

export const tool = {
  describe() {
    const info = new PluginInfo();
    info.addTool(new ToolInfo('diary', 'Writes a line into the diary.', JSON.stringify(PARAMETERS)));
    return info;
  },

  // The user is shown the difference; `run` does exactly this.
  prepare(call) {
    const plan = new Plan('');
    plan.addAppend(FILE, line(call));
    return plan;
  },

  run(call) {
    const { linesAfter } = appendText(FILE, line(call));
    const output = new Output();
    output.addText(`The diary has ${linesAfter} lines.`);
    return output;
  },
};

function line(call) {
  const { text } = JSON.parse(call.arguments());
  if (text.trim() === '') throw new Failure('invalid-arguments', 'text is empty: say what happened');
  const now = nowMs();
  const local = new Date(Number(now) + utcOffsetMinutes(now) * 60_000);
  return `${local.toISOString().slice(0, 10)}: ${text.trim()}\n`;
}
