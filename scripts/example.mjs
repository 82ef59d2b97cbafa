// `npm run example -- NAME`: runs examples/NAME.ts after building what is missing. Without a name it lists the
// examples.
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { bootstrap } from './bootstrap/bootstrap.mjs';
import { root } from './bootstrap/root.mjs';
import { say } from './bootstrap/say.mjs';

const [, , name = '', ...args] = process.argv;
const names = readdirSync(join(root, 'examples'))
  .filter((file) => file.endsWith('.ts') && !file.endsWith('.test.ts'))
  .map((file) => file.slice(0, -'.ts'.length));

if (names.includes(name)) {
  // A program of your own has its own project, so that its errors do not stop the others.
  await bootstrap(name === 'mine' ? 'examples/tsconfig.mine.json' : 'examples');
  const program = join(root, 'examples/dist', `${name}.js`);
  process.argv = [process.execPath, program, ...args];
  await import(pathToFileURL(program).href);
} else {
  const isAsked = name === '' || name === '-h' || name === '--help';
  if (!isAsked) say(`Unknown example "${name}".`);
  say('Run one of these:');
  for (const each of names) say(`  npm run example -- ${each}`);
  process.exitCode = isAsked ? 0 : 2;
}
