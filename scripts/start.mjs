// `npm start`, `npm run dev` and `npm run demo`: from a fresh clone to running servers. Installs and builds what is missing, then
// runs the `syncline` command in this process, so that signals and the exit code are the command's own. Builds the
// command line only, which takes half the time of `npm run build`.
// Plain JavaScript, because it runs before anything is built.
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { bootstrap } from './bootstrap/bootstrap.mjs';
import { root } from './bootstrap/root.mjs';

const { ppid: parentId } = process;
await bootstrap('packages/cli');
// If npm was killed in the meantime, so was the shell that started us, and no one waits for the server.
if (process.ppid !== parentId && process.env['npm_execpath'] !== undefined) process.exit(1);

const command = join(root, 'packages/cli/bin/syncline.js');
process.argv = [process.execPath, command, ...process.argv.slice(2)];
await import(pathToFileURL(command).href);
