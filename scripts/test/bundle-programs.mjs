// Bundles the programs that tests start hundreds of times: the command line and the children of the testkit. Node
// spends most of the start of `syncline serve` on loading 860 modules one by one; a bundle starts with a third of the
// processor time. e2e/packages-installed.int.test.ts runs the modules as they are published.
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { readFile, rm, writeFile } from 'node:fs/promises';
import { join, parse, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { build } from 'esbuild';
import { cacheDirectory, root } from '../bootstrap/root.mjs';

const children = join(root, 'packages/testkit/dist/children');
const outdir = join(cacheDirectory, 'programs');
/** The files that the bundles were made of. It is written last. */
const inputsPath = join(outdir, 'inputs.json');

/** Native code, and clients that are loaded only if they are installed. */
const external = ['classic-level', '@google-cloud/firestore', '@nats-io/*', 'pg', 'snappy'];

/** The result is `.cache/programs/syncline.js`, and the children by their names. */
export async function bundlePrograms() {
  if (isUpToDate()) return;
  await rm(outdir, { recursive: true, force: true });
  const names = readdirSync(children).filter((name) => name.endsWith('.js'));
  const { metafile } = await build({
    absWorkingDir: root,
    entryPoints: [
      { in: 'start-syncline', out: 'syncline' },
      ...names.map((name) => ({ in: join(children, name), out: parse(name).name })),
    ],
    outdir,
    bundle: true,
    splitting: true,
    format: 'esm',
    platform: 'node',
    target: 'node20',
    external,
    // CommonJS modules in the bundle call `require` for the modules of Node.
    banner: {
      js: "import { createRequire as requireFrom } from 'node:module'; const require = requireFrom(import.meta.url);",
    },
    plugins: [startSyncline, originalUrls, namedExports],
    metafile: true,
    logLevel: 'warning',
  });
  const files = Object.keys(metafile.inputs).filter((path) => !/^(start|named):/.test(path));
  const inputs = [import.meta.filename, children, ...files.map((path) => resolve(root, path))];
  await writeFile(inputsPath, JSON.stringify(inputs));
}

/** Whether nothing has changed since. Bundling again would also pull the programs away from another test run. */
function isUpToDate() {
  try {
    const { mtimeMs } = statSync(inputsPath);
    const inputs = /** @type {string[]} */ (JSON.parse(readFileSync(inputsPath, 'utf8')));
    return inputs.every((path) => statSync(path).mtimeMs < mtimeMs);
  } catch {
    return false; // never bundled, or a module is gone
  }
}

/**
 * bin/syncline.js looks for the build at run time, so a bundler cannot follow it.
 *
 * @type {import('esbuild').Plugin}
 */
const startSyncline = {
  name: 'start-syncline',
  setup({ onResolve, onLoad }) {
    onResolve({ filter: /^start-syncline$/ }, ({ path }) => ({ path, namespace: 'start' }));
    onLoad({ filter: /.*/, namespace: 'start' }, () => ({
      contents: "import { main } from './packages/cli/dist/main.js'; await main(process);",
      resolveDir: root,
    }));
  },
};

/**
 * A module finds files, programs and workers beside itself, so in the bundle it keeps its own URL.
 *
 * @type {import('esbuild').Plugin}
 */
const originalUrls = {
  name: 'original-urls',
  setup({ initialOptions, onLoad }) {
    initialOptions.define = { 'import.meta.url': 'originalUrl' };
    onLoad({ filter: /\.m?js$/ }, async ({ path }) => {
      const source = await readFile(path, 'utf8');
      if (!source.includes('import.meta.url')) return undefined;
      const url = JSON.stringify(pathToFileURL(path).href);
      return { contents: `const originalUrl = ${url};\n${source}`, loader: 'js' };
    });
  },
};

/**
 * `await import()` of a CommonJS package has named exports in Node, but only a default one in a bundle.
 *
 * @type {import('esbuild').Plugin}
 */
const namedExports = {
  name: 'named-exports',
  setup({ onResolve, onLoad }) {
    onResolve({ filter: /^[@\w]/ }, ({ path, kind, importer }) => {
      if (kind !== 'dynamic-import' || !importer.startsWith(join(root, 'packages/')))
        return undefined;
      if (/^(node:|@syncline\/)/.test(path) || external.includes(path)) return undefined;
      return { path, namespace: 'named' };
    });
    onLoad({ filter: /.*/, namespace: 'named' }, async ({ path }) => {
      const exported = /** @type {object} */ (await import(path));
      const names = Object.keys(exported).filter((name) => /^\w+$/.test(name));
      const contents = `export { ${names.join(', ')} } from '${path}';`;
      return { contents, resolveDir: join(root, 'packages/server') };
    });
  },
};
