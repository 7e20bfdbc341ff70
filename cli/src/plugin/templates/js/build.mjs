// Makes a component of src/tool.js (or src/tool.ts); `dunlin plugin build` runs it.

import { build } from './dunlin/build.mjs';

await build();
