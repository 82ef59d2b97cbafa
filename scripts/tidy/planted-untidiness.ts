// One list per tidy rule: files that break it, and files that come close. Words and paths that other
// rules look for are put together from pieces, so that this file itself is clean.
import type { Files, Planted } from '../repository/planted.js';

const core = 'packages/fair/src/bucket.ts';
const system = 'packages/kernel/src/system-clock.ts';
const unitTest = 'packages/fair/src/bucket.test.ts';
const generated = 'packages/protocol/src/generated/fair/v1/state_pb.ts';
const integrationTest = 'packages/fair/src/bucket.int.test.ts';

const at = (path: string, texts: readonly string[]): Files[] =>
  texts.map((text) => ({ [path]: text }));
const lines = (count: number) => '// A line.\n'.repeat(count);
const fence = '```';

const worldUses = [
  'Date.now();',
  "Date['now']();",
  'new Date();',
  'Math.random();',
  'performance.now();',
  'process.env;',
  'setTimeout(work, 1);',
  'const later = setInterval;',
  'const ports = { setImmediate };',
  'globalThis.setTimeout(work, 1);',
  'AbortSignal.timeout(1);',
  'console.log(1);',
  'crypto.randomUUID();',
  "import { randomBytes } from 'node:crypto';",
  "import { setTimeout as sleep } from 'node:timers/promises';",
  "import { readFile } from 'node:fs/promises';",
  "import net from 'node:net';",
  "await import('node:child_process');",
  'const { env } = process;',
  'const { now } = Date;',
  'const { random: chance = 1 } = Math;',
  'const { setTimeout: later } = globalThis;',
  'const { process: { env } } = globalThis;',
  'function wait({ now } = Date) {}',
  'let now; ({ now } = performance);',
  'const { ...all } = process;',
  'const { [name]: value } = process;',
  'process[name];',
  'const time = Date;',
  'measure(performance);',
  'const ports = { crypto };',
  "spyOn(globalThis, 'fetch');",
  'Date();',
  "fetch('http://127.0.0.1');",
  'process.nextTick(work);',
  "process.stdout.write('');",
  "import { webcrypto } from 'node:crypto';",
  "import { randomFillSync } from 'crypto';",
  "import crypto from 'node:crypto';",
  "import * as everything from 'node:crypto';",
  "import { readFileSync } from 'fs';",
  "import { setTimeout as sleep } from 'timers/promises';",
];

export const plantedUntidiness: Readonly<Record<string, Planted>> = {
  'file-names': {
    bad: [
      { 'packages/fair/src/utils.ts': '' },
      { 'packages/fair/src/helpers/clamp.ts': '' },
      { 'packages/fair/src/types.ts': '' },
    ],
    good: [{ 'packages/fair/src/bucket-store.property.test.ts': '' }, { [generated]: '' }],
  },
  'file-size': {
    bad: [{ [core]: lines(401) }],
    good: [{ [core]: lines(400) }, { [unitTest]: lines(401) }, { [generated]: lines(401) }],
  },
  'head-comment': {
    bad: at(core, ['const value = 1;', `${lines(21)}work();`, '\n// Not at the head.\n']),
    good: [
      ...at(core, ['// Why.\nwork();', '#!/usr/bin/env node\n// Why.\nwork();', '/* Why. */\n']),
      { [unitTest]: 'test();' },
      { 'packages/fair/src/index.ts': "export { other } from './other.js';" },
    ],
  },
  'hidden-world': {
    bad: [
      ...at(core, worldUses),
      ...at(unitTest, ['Date.now();', 'Math.random();', 'setTimeout(work, 1);', 'console.log(1);']),
      ...at(integrationTest, ['Math.random();', 'console.log(1);']),
      { [system]: 'console.log(1);' },
      { 'packages/kernel/src/system/clock.ts': 'Date.now();' },
      { 'packages/kernel/src/storage/owner-file.ts': 'Date.now();' },
    ],
    good: [
      ...at(core, [
        'new Date(0);',
        'Date.UTC(2026, 1);',
        'const { floor } = Math;',
        'value instanceof Date;',
        'const when: Date = parse();',
        'const { env } = options;',
        'const options = { process: 1, Date: 2 };',
        'clock.setTimeout(work, 1);',
        'const options = { console: 1 };',
        "const text = 'Date.now()'; // Date.now()",
        "import type { Socket } from 'node:net';",
        "import { createHash } from 'node:crypto';",
        'let timer: ReturnType<typeof setTimeout>;',
      ]),
      ...[
        'packages/server/src/a.ts',
        'packages/cli/src/a.ts',
        'bench/a.ts',
        'scripts/a.mjs',
      ].flatMap((path) => at(path, worldUses)),
      { [system]: 'Date.now(); setTimeout(work, 1);' },
      { [integrationTest]: 'setTimeout(work, 1); process.env;' },
      { [unitTest]: "spyOn(globalThis, 'queueMicrotask');" },
    ],
  },
  'links-resolve': {
    bad: [{ 'docs/A.md': '# A\n[b](B.md)\n' }, { 'docs/A.md': '# A\n[b](../packages/gone)\n' }],
    good: [
      { 'docs/A.md': '# A\n[b](B.md#part) [c](https://example.org) [d](#a)\n', 'docs/B.md': '# B' },
      { 'docs/A.md': `# A\n${fence}\n[b](B.md)\n${fence}\n[p](../packages/fair)\n` },
    ],
  },
  'one-heading': {
    bad: [{ 'docs/A.md': '# A\n# B\n' }, { 'docs/A.md': 'Only prose.\n' }],
    good: [{ 'docs/A.md': `# A\n## B\n${fence}sh\n# a comment\n${fence}\n` }],
  },
  'outside-references': {
    bad: [
      { 'docs/A.md': `# A\nSee ${['..', 'shared', 'B.md'].join('/')}\n` },
      { 'package.json': JSON.stringify({ path: ['', 'work', 'main'].join('/') }) },
      { [core]: `// Lies in ${['', 'home', 'me'].join('/')}\n` },
    ],
    good: [{ 'docs/A.md': '# A\nsrc/work/load.ts, GET /workers, https://a.example/home/\n' }],
  },
  reminder: {
    bad: [{ 'docs/A.md': `# A\n${['TO', 'DO'].join('')}: more\n` }],
    good: [{ 'docs/A.md': '# A\nTodos are hacked here.\n' }],
  },
};
