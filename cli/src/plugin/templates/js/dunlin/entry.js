// Stands between the host and src/tool: every exception of the tool, a rejected promise too, reaches its author with the text
// and the place in the source. Without it the engine says only that it aborted.

import { Failure, Output, Plan, PluginInfo, reportCrash } from 'dunlin:tool/tool-types@0.1.0';
import { tool as authors } from 'plugin:source';

export const tool = {
  async describe() {
    try {
      return returned(await authors.describe(), 'describe', 'PluginInfo', PluginInfo);
    } catch (error) {
      reportCrash(told(error));
      throw error;
    }
  },

  async prepare(call) {
    try {
      return returned(await authors.prepare(call), 'prepare', 'Plan', Plan);
    } catch (error) {
      throw failure(error);
    }
  },

  async run(call) {
    try {
      return returned(await authors.run(call), 'run', 'Output', Output);
    } catch (error) {
      throw failure(error);
    }
  },
};

// Something else would end the engine, and nobody would know why.
function returned(value, by, name, type) {
  if (value instanceof type) return value;
  const found = value === undefined ? 'nothing' : JSON.stringify(value);
  throw new TypeError(`${by} returned ${found}, and has to return the ${name} that it makes with new ${name}(…)`);
}

// The kinds of failure that have the same name in `dunlin:tool/types.error`, and what the codes of Node.js are in them.
const KINDS = ['denied', 'not-found', 'too-large', 'conflict', 'timed-out', 'unavailable', 'unsupported', 'cancelled'];
const CODES = { EACCES: 'denied', EINTR: 'cancelled', ENOENT: 'not-found', EBUSY: 'conflict', EFBIG: 'too-large' };

function failure(error) {
  if (error instanceof Failure) return error;
  const refused = error?.payload;
  // An error of `dunlin:tool`, which says by itself what is wrong.
  if (typeof refused?.tag === 'string') {
    const { tag, val } = refused;
    const text = tag === 'denied' ? `the user or a rule did not allow: ${val.operation} ${val.target.val}` : `${val ?? tag}`;
    return new Failure(KINDS.includes(tag) ? tag : 'failed', text);
  }
  const kind = CODES[error?.code];
  if (kind !== undefined) return new Failure(kind, error.message);
  // Nobody expected it: whoever looks for the fault finds it in the log.
  const text = told(error);
  console.error(text);
  return new Failure('failed', text);
}

// The text of an exception, and its place: `Error: text; at deep (src/tool.js:12), run (src/tool.js:7)`.
function told(error) {
  // What the bindings throw is not an Error of this program's, and still has its parts.
  if (typeof error?.stack !== 'string') return `${typeof error === 'object' ? JSON.stringify(error) : error} was thrown`;
  const places = [];
  for (const [, name, line] of `${error.stack}`.matchAll(/^(?:async\*)?(.*)@.*?:(\d+)(?::\d+)?$/gm)) {
    const place = placeOf(Number(line));
    if (place !== undefined) places.push(name ? `${name} (${place})` : place);
  }
  const text = `${error.name}: ${error.message}`;
  return places.length === 0 ? text : `${text}; at ${places.join(', ')}`;
}

// Where a line of the bundle stands in the sources; the build adds the table: runs of lines, in order. Nothing for lines of
// this folder.
function placeOf(line) {
  const { sources, runs } = globalThis.pluginPlaces;
  const run = runs.findLast(([first]) => first <= line);
  return run && run[1] >= 0 ? `${sources[run[1]]}:${run[2] + line - run[0]}` : undefined;
}
