// Writes the generated pages. `npm run docs` runs it after the build.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { repositoryRoot } from '../repository/read-repository.js';
import { renderPages } from './pages.js';

for (const [path, text] of await renderPages()) {
  writeFileSync(join(repositoryRoot, path), text);
  process.stderr.write(`${path}\n`);
}
