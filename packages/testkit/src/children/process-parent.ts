// Starts a process with `startProcess`, prints its pid, and waits to be killed.
import { startProcess } from '../cluster/start-process.js';

const directory = process.argv[2] ?? '';
const child = await startProcess({ name: 'sleep', command: 'sleep', args: ['600'], directory });
process.stdout.write(`${child.pid}\n`);
setInterval(() => {}, 1_000);
