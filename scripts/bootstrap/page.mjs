// Builds the page of packages/dashboard when it is missing or older than its sources. A stamp in its output holds a
// hash of everything that it was built from, so an unchanged page costs a few milliseconds.
import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { root } from './root.mjs';
import { runStep } from './step.mjs';

const folder = join(root, 'packages/dashboard');
const stampPath = join(folder, 'dist/.stamp');

export async function ensurePageBuilt() {
  const wanted = hashOfSources();
  if (existsSync(stampPath) && readFileSync(stampPath, 'utf8') === wanted) return;
  await runStep({
    name: 'page',
    title: 'Building the dashboard (vite build) …',
    silentMs: 700,
    command: process.execPath,
    args: [
      'node_modules/vite/bin/vite.js',
      'build',
      '--config',
      'packages/dashboard/vite.config.ts',
    ],
    hint: 'The sources of packages/dashboard do not build.',
  });
  writeFileSync(stampPath, wanted);
}

function hashOfSources() {
  const hash = createHash('sha256');
  const sources = readdirSync(join(folder, 'src'), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
    .sort();
  const others = ['index.html', 'package.json', 'vite.config.ts'].map((name) => join(folder, name));
  for (const path of [...others, ...sources])
    hash.update(path.slice(root.length)).update(readFileSync(path));
  return hash.digest('hex');
}
