// Mistakes that the types must catch. The program is compiled as a user's would be, and the errors must stand
// exactly on the lines that are marked: a type that allows too much, or too little, fails.
import { spawnSync } from 'node:child_process';
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';

const root = join(import.meta.dirname, '../../../..');
const folder = join(root, '.cache/jobs-must-not-compile');

const program = `
import { createJobManager, createMemoryJobStore, type JobEvent, type StatusClass } from '@syncline/jobs';
import type { StandardSchemaV1 } from '@standard-schema/spec';

declare const rows: StandardSchemaV1<{ rows: string }, { rows: number }>;
const job = await createJobManager(
  { store: createMemoryJobStore(), jobId: 'job', taskIndex: 0, numTasks: 1 },
  { tags: { ingest: { schema: rows }, export: {} }, statuses: { parsing: 20 } },
);

await job.setStarted({ tag: 'ingest', payload: { rows: '7' } });
await job.setStarted({ tag: 'ingets' }); // wrong: unknown tag
await job.setStarted({ tag: 'ingest', payload: { rows: 7 } }); // wrong: payload
await job.setStarted({ tag: 'ingest', payload: { rows: '7', more: 1 } }); // wrong: payload
await job.setState({ tag: 'export', status: 'parsing', payload: { any: [1] } });
await job.setState({ tag: 'export', status: 'parsed' }); // wrong: status
await job.setState({ tag: 'export', status: 3, version: 4 }); // wrong: clients never set it
await job.setError(new Error('x'), { tag: 'ingets' }); // wrong: unknown tag
await job.setError(new Error('x'), { tag: 'ingest', message: 'x' }); // wrong: the error is the message
await job.getState({ tag: 'ingets' }); // wrong: unknown tag
job.subscribe({ tag: 'ingets' }); // wrong: unknown tag
await job.waitFor({ tag: 'ingets' }, () => true); // wrong: unknown tag

const conditional = await job.setState({ tag: 'export', status: 3, ifVersion: 1 });
conditional.state; // wrong: it may not have been applied
(await job.setState({ tag: 'export', status: 3 })).state;

const state = await job.getState();
if (state.tag === 'ingest') state.payload?.rows.toFixed();
state.payload?.rows.toFixed(); // wrong: it may be of another tag

export function everyKind(event: JobEvent): string {
  switch (event.kind) {
    case 'snapshot': case 'synced': case 'change': case 'gap':
    case 'stale': case 'live': case 'lease': case 'job':
      return event.kind;
  }
}
export function oneKindMissing(event: JobEvent): string { // wrong: no case for stale
  switch (event.kind) {
    case 'snapshot': case 'synced': case 'change': case 'gap':
    case 'live': case 'lease': case 'job':
      return event.kind;
  }
}
export function everyClass(kind: StatusClass): number {
  switch (kind) {
    case 'failed': case 'warned': case 'not-started': case 'running': case 'finished':
      return 1;
  }
}
export function oneClassMissing(kind: StatusClass): number { // wrong: no case for warned
  switch (kind) {
    case 'failed': case 'not-started': case 'running': case 'finished':
      return 1;
  }
}
`;

beforeAll(() => {
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, 'package.json'), '{ "type": "module" }\n');
  writeFileSync(join(folder, 'program.ts'), program);
  const compilerOptions = {
    composite: false,
    declaration: false,
    declarationMap: false,
    noEmit: true,
    customConditions: ['syncline-source'],
  };
  const config = { extends: '../../tsconfig.base.json', compilerOptions, include: ['program.ts'] };
  writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify(config));
});

afterAll(() => rmSync(folder, { recursive: true, force: true }));

test('mistakes with tags, payloads, statuses and missing cases do not compile', () => {
  const compiler = join(root, 'node_modules/typescript/bin/tsc');
  const { stdout } = spawnSync(process.execPath, [compiler, '-p', folder, '--pretty', 'false'], {
    encoding: 'utf8',
  });
  const found = [...stdout.matchAll(/program\.ts\((\d+),/g)].map(([, line]) => Number(line));
  const lines = program.split('\n');
  const wanted = lines.flatMap((text, index) => (text.includes('// wrong') ? [index + 1] : []));
  expect([...new Set(found)], stdout).toEqual(wanted);
});
