// Counts the words of a text file.

import { openRead } from 'dunlin:tool/files@0.1.0';
import { count } from './words.js';

const PARAMETERS = '@param file_path {string} [required] The file, relative to the project';

export const tool = {
  // What the model is told. Kept for as long as the plugin stays the same.
  describe() {
    return {
      contract: '0.1.0',
      life: 'call',
      tools: [
        {
          name: '{{name}}',
          description: 'Counts the words of a text file.',
          parameters: { tag: 'lines', val: PARAMETERS },
          annotations: [],
        },
      ],
      annotations: [],
    };
  },

  // What the call will touch: the question for the user is made of it.
  prepare(call) {
    const path = JSON.parse(call.arguments).file_path;
    return {
      question: `Count the words of '${path}'?`,
      needs: [{ target: { tag: 'path', val: path }, operation: 'read' }],
      actions: [],
    };
  },

  run(call) {
    const path = JSON.parse(call.arguments).file_path;
    return [{ tag: 'text', val: `${count(read(path))} words` }];
  },
};

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
    if (tag === 'denied') throw { kind: 'denied', message: `reading '${path}' was denied` };
    throw { kind: tag === 'not-found' ? 'not-found' : 'failed', message: `cannot read ${path}: ${val}` };
  }
}
