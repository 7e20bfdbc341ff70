// Makes a component: one file of the source and its packages, then the engine with it. `dunlin plugin upgrade` replaces this
// folder; ../build.mjs is the author's.

import { existsSync } from 'node:fs';
import { cp, mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { builtinModules, SourceMap } from 'node:module';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';

import { componentize } from '@bytecodealliance/componentize-js';
import * as esbuild from 'esbuild';
import { defineEnv } from 'unenv';

const HERE = dirname(fileURLToPath(import.meta.url));
const BUNDLE = 'target/tool.js';
const COMPONENT = 'target/component.wasm';
const STD = '@bytecodealliance/jco-std/wasi/0.2.x/node/24.x.x';

// The modules of Node.js that work here; unenv has those that need no machine. Others can be imported, as packages do that
// use them only in Node.js, and say what is missing when they are called.
const MODULES = {
  ...defineEnv().env.alias,
  'plugin:source': ['src/tool.ts', 'src/tool.js'].map((path) => join(HERE, '..', path)).find(existsSync),
  'jco:node/fs@0.1.0': join(HERE, 'node-fs.js'),
};
for (const name of ['fs', 'fs/promises']) MODULES[name] = MODULES[`node:${name}`] = `${STD}/${name}`;

const modules = {
  name: 'modules',
  setup(build) {
    build.onResolve({ filter: /^(dunlin|wasi):/ }, () => ({ external: true }));
    build.onResolve({ filter: /^(node:|jco:|plugin:|[a-z_0-9/]+$)/ }, async ({ path, pluginData }) => {
      // A package of the author's may be called like a module of Node.js, as Node.js itself would have it.
      if (pluginData === modules || (!path.includes(':') && !builtinModules.includes(path))) return undefined;
      const target = MODULES[path];
      if (target === undefined) return { errors: [{ text: `a plugin has no ${path}` }] };
      return target.startsWith('/') ? { path: target } : build.resolve(target, { kind: 'import-statement', resolveDir: HERE, pluginData: modules });
    });
  },
};

async function bundle() {
  const { outputFiles, metafile, warnings } = await esbuild.build({
    entryPoints: [join(HERE, 'entry.js')],
    outfile: BUNDLE,
    bundle: true,
    write: false,
    metafile: true,
    sourcemap: 'external',
    format: 'esm',
    platform: 'neutral',
    mainFields: ['module', 'main'],
    target: 'es2023',
    plugins: [modules],
    inject: [join(HERE, 'fetch.js'), join(HERE, 'globals.js')],
    define: { 'process.env.NODE_ENV': '"production"', global: 'globalThis' },
    legalComments: 'none',
    logLevel: 'silent',
  });
  for (const line of await esbuild.formatMessages(warnings, { kind: 'warning' })) console.error(line.trimEnd());
  const [map, code] = ['.map', '.js'].map((end) => outputFiles.find(({ path }) => path.endsWith(end)).text);
  const { inputs } = Object.values(metafile.outputs).find(({ inputs }) => Object.keys(inputs).length > 0);
  const uses = (name) => inputs[relative('.', join(HERE, name))]?.bytesInOutput > 0;
  return { code, places: placesOf(JSON.parse(map), code), usesFetch: uses('fetch.js'), usesFiles: uses('node-fs.js') };
}

// For each run of lines of the bundle: the first, the number of the source, and the line there.
function placesOf(map, code) {
  const found = new SourceMap(map);
  const sources = [];
  const runs = [];
  for (const [index, text] of code.split('\n').entries()) {
    const { originalSource, originalLine } = found.findEntry(index, text.search(/\S|$/));
    if (originalSource === undefined) continue;
    const path = relative('.', join(dirname(BUNDLE), originalSource));
    const isOurs = path.startsWith('dunlin/') || path.includes('/jco-std/');
    let source = isOurs ? -1 : sources.indexOf(path);
    if (source === -1 && !isOurs) source = sources.push(path) - 1;
    const [line, original] = [index + 1, originalLine + 1];
    const last = runs.at(-1);
    if (last?.[1] === source && (isOurs || last[2] + line - last[0] === original)) continue;
    runs.push([line, source, original]);
  }
  return { sources, runs };
}

// The author's world and what the modules need that were bundled, in a folder of its own.
async function world({ usesFiles }) {
  if (!usesFiles) return { witPath: 'wit', worldName: 'plugin' };
  await rm('target/wit', { recursive: true, force: true });
  await cp('wit', 'target/wit', { recursive: true });
  await cp(join(HERE, 'wasi'), 'target/wit/deps', { recursive: true });
  const imports = ['types', 'preopens'].map((name) => `  import wasi:filesystem/${name}@0.2.12;\n`);
  await writeFile('target/wit/with-node.wit', `world with-node {\n  include plugin;\n${imports.join('')}}\n`);
  return { witPath: 'target/wit', worldName: 'with-node' };
}

// What an engine says of a place in the bundle, said of the source.
function inSource(text, { sources, runs }) {
  return text.replaceAll(/target\/tool\.js:(\d+)(:\d+)?/g, (whole, digits) => {
    const line = Number(digits);
    const run = runs.findLast(([first]) => first <= line);
    return run && run[1] >= 0 ? `${sources[run[1]]}:${run[2] + line - run[0]}` : whole;
  });
}

export async function build() {
  await mkdir('target', { recursive: true });
  let bundled;
  try {
    bundled = await bundle();
  } catch (error) {
    if (!error.errors) throw error;
    const lines = await esbuild.formatMessages(error.errors, { kind: 'error' });
    console.error(lines.map((line) => line.trimEnd()).join('\n\n'));
    process.exit(1);
  }
  await writeFile(BUNDLE, `${bundled.code}\nglobalThis.pluginPlaces = ${JSON.stringify(bundled.places)};\n`);
  try {
    const { component } = await componentize({
      sourcePath: BUNDLE,
      ...(await world(bundled)),
      // What the tool does not use, so that it cannot ask for it.
      disableFeatures: bundled.usesFetch ? ['fetch-event'] : ['http', 'fetch-event'],
    });
    await writeFile(COMPONENT, component);
  } catch (error) {
    console.error(inSource(error.message, bundled.places));
    process.exit(1);
  }
}
