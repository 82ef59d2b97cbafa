// Reads the working tree into a Repository. What .gitignore names and what is not text stays out.
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Repository } from './repository.js';

const skippedFolders = new Set([
  '.cache',
  '.git',
  'coverage',
  'dist',
  'node_modules',
  'syncline-data',
]);
const textEnding = /(\.(ts|tsx|mts|js|mjs|json|md|toml|proto|yml|yaml|sh)|\/run)$/;

/** The folder of package.json, from the source as well as from `scripts/dist`. */
export const repositoryRoot = fileURLToPath(new URL('.', import.meta.url)).replace(
  /scripts\/(dist\/)?repository\/$/,
  '',
);

let working: Repository | undefined;

/** Read once per process, because parsing all of it takes seconds. */
export function readRepository(): Repository {
  working ??= readTree(repositoryRoot);
  return working;
}

function readTree(root: string): Repository {
  const texts = new Map<string, string>();
  const visit = (folder: string): void => {
    for (const entry of readdirSync(join(root, folder), { withFileTypes: true })) {
      const path = folder === '' ? entry.name : `${folder}/${entry.name}`;
      if (entry.isDirectory() && !skippedFolders.has(entry.name)) visit(path);
      if (entry.isFile()) {
        texts.set(path, textEnding.test(path) ? readFileSync(join(root, path), 'utf8') : '');
      }
    }
  };
  visit('');
  return new Repository(texts);
}
