// `npm start`: from a fresh clone to a running server. Installs and builds what is missing, then
// runs `syncline serve` in this process, so that signals and the exit code are the server's own.
// Plain JavaScript, because it runs before anything is built.
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { bootstrap } from './bootstrap/bootstrap.mjs';
import { root } from './bootstrap/root.mjs';

await bootstrap('packages/cli');

const command = join(root, 'packages/cli/bin/syncline.js');
process.argv = [process.execPath, command, 'serve', ...process.argv.slice(2)];
await import(pathToFileURL(command).href);
