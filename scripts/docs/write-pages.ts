// Writes the generated pages. `npm run docs` runs it after the build.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { repositoryRoot } from '../repository/read-repository.js';
import { pages } from './pages.js';

for (const [path, render] of Object.entries(pages)) {
  writeFileSync(join(repositoryRoot, path), render());
  process.stderr.write(`${path}\n`);
}
