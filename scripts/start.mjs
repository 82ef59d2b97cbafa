// `npm start`: from a fresh clone to a running server. Installs and builds what is missing, then
// runs `syncline serve` in this process, so that signals and the exit code are the server's own.
// Plain JavaScript, because it runs before anything is built.
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { bootstrap } from './bootstrap/bootstrap.mjs';
import { root } from './bootstrap/root.mjs';

const { ppid: parentId } = process;
await bootstrap('packages/cli');
// Killed meanwhile, npm has taken the shell with it that started us; nobody waits for a server then.
if (process.ppid !== parentId && process.env['npm_execpath'] !== undefined) process.exit(1);

const command = join(root, 'packages/cli/bin/syncline.js');
process.argv = [process.execPath, command, 'serve', ...process.argv.slice(2)];
await import(pathToFileURL(command).href);
