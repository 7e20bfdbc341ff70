// Counts the words of a text file.

import { openRead } from 'dunlin:tool/files@0.1.0';
import { Failure, Output, Plan, PluginInfo, ToolInfo } from 'dunlin:tool/tool-types@0.1.0';
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
    return told(() => {
      const path = JSON.parse(call.arguments()).file_path;
      const plan = new Plan(`Count the words of '${path}'?`);
      plan.addNeed({ target: { tag: 'path', val: path }, operation: 'read' });
      return plan;
    });
  },

  run(call) {
    return told(() => {
      const path = JSON.parse(call.arguments()).file_path;
      const output = new Output();
      output.addText(`${count(read(path))} words`);
      return output;
    });
  },
};

// What the host refused becomes a failure, and so does an exception that nobody expected, with its text and place: the engine
// would say only that it aborted.
function told(work) {
  try {
    return work();
  } catch (error) {
    if (error instanceof Failure) throw error;
    if (error.payload === undefined) throw new Failure('failed', `${error}\n${error.stack ?? ''}`.trim());
    const { tag, val } = error.payload;
    if (tag === 'denied') throw new Failure('denied', 'the user or a rule said no');
    throw new Failure(tag === 'not-found' ? 'not-found' : 'failed', `${val ?? tag}`);
  }
}

// All of a file, piece by piece: a host gives at most 1 MiB at once.
function read(path) {
  try {
    const file = openRead(path);
    const decoder = new TextDecoder();
    let text = '';
    let at = 0n;
    for (;;) {
      const piece = file.readAt(at, 1 << 20);
      if (piece.length === 0) return text + decoder.decode();
      text += decoder.decode(piece, { stream: true });
      at += BigInt(piece.length);
    }
  } catch (error) {
    const { tag, val } = error.payload ?? { tag: 'failed', val: String(error) };
    if (tag === 'denied') throw new Failure('denied', `reading '${path}' was denied`);
    throw new Failure(tag === 'not-found' ? 'not-found' : 'failed', `cannot read ${path}: ${val}`);
  }
}
