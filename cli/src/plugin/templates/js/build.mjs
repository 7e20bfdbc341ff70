// Makes a component of src/tool.js; `dunlin plugin build` runs it.

import { mkdir, writeFile } from 'node:fs/promises';
import { componentize } from '@bytecodealliance/componentize-js';

const { component } = await componentize({
  sourcePath: 'src/tool.js',
  witPath: 'wit',
  worldName: 'plugin',
  // What this tool does not need, so that it cannot ask for it. `fetch` needs 'http'.
  disableFeatures: ['http', 'fetch-event'],
});
await mkdir('target', { recursive: true });
await writeFile('target/component.wasm', component);
