// `npm run docs`: writes the pages that are made from the code (limits, metrics, errors, settings).
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { bootstrap } from './bootstrap/bootstrap.mjs';
import { root } from './bootstrap/root.mjs';

await bootstrap('scripts');
await import(pathToFileURL(join(root, 'scripts/dist/docs/write-pages.js')).href);
