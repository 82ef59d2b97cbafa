import { describe, expect, test } from 'vitest';
import { schemaOf } from '../conformance/override-store.js';
import { defaultState, type JsonObject, type State } from '../job.js';
import { StateReader } from './state-reader.js';

const stateWith = (payload: JsonObject, schemaVersion = 1): State => ({
  ...defaultState('job', 0, 'ingest'),
  payload,
  schemaVersion,
});

const withMany = schemaOf(({ rows }: { readonly rows: unknown }) => {
  if (typeof rows !== 'number') throw new Error('rows must be a number');
  return { rows, isMany: rows > 100 };
});

describe('reading a state', () => {
  test('returns the output of the schema', async () => {
    const reader = new StateReader({ ingest: { schema: withMany } });
    expect((await reader.read(stateWith({ rows: 7 }))).payload).toEqual({ rows: 7, isMany: false });
  });

  test('delivers what the schema refuses, with the reason', async () => {
    const reader = new StateReader({ ingest: { schema: withMany } });
    const state = await reader.read(stateWith({ rows: 'many' }));
    expect(state).not.toHaveProperty('payload');
    expect(state).toMatchObject({
      payloadIssues: [{ message: 'rows must be a number' }],
      rawPayload: { rows: 'many' },
    });
  });

  test('gives the schema a copy: the stored payload is shared by all readers', async () => {
    const greedy = schemaOf((payload: Record<string, unknown>) =>
      Object.assign(payload, { mine: 1 }),
    );
    const reader = new StateReader({ ingest: { schema: greedy } });
    const stored = stateWith({ rows: 7 });
    expect((await reader.read(stored)).payload).toEqual({ rows: 7, mine: 1 });
    expect(stored.payload).toEqual({ rows: 7 });
  });

  test('migrates an older payload before its check, and leaves the stored one alone', async () => {
    const migrate = (old: JsonObject, fromVersion: number) =>
      Object.assign(old, { rows: Number(old['count']), fromVersion });
    const reader = new StateReader({ ingest: { schema: withMany, schemaVersion: 3, migrate } });
    const stored = stateWith({ count: '200' }, 2);
    expect((await reader.read(stored)).payload).toEqual({ rows: 200, isMany: true });
    expect(stored.payload).toEqual({ count: '200' });
    expect((await reader.read(stateWith({ rows: 1 }, 3))).payload).toMatchObject({ rows: 1 });
  });

  test.each([
    ['is newer', { schemaVersion: 1 }, 2, /version 2/],
    [
      'cannot be migrated',
      { schemaVersion: 2, migrate: () => Promise.reject(new Error('no')) },
      1,
      /^no$/,
    ],
    ['was not declared', undefined, 1, /not declared/],
  ])('delivers a payload that %s', async (_why, tag, schemaVersion, message) => {
    const reader = new StateReader(tag === undefined ? { other: {} } : { ingest: tag });
    const state = await reader.read(stateWith({ rows: 1 }, schemaVersion));
    expect(state).not.toHaveProperty('payload');
    expect(state.rawPayload).toEqual({ rows: 1 });
    expect(state.payloadIssues?.[0]?.message).toMatch(message);
  });

  test('survives a schema that throws, at once or later', async () => {
    const broken = schemaOf(() => ({}))['~standard'];
    const throwing = {
      '~standard': {
        ...broken,
        validate: () => {
          throw new Error('boom');
        },
      },
    };
    const reader = new StateReader({ ingest: { schema: throwing } });
    expect(await reader.read(stateWith({}))).toMatchObject({
      payloadIssues: [{ message: 'boom' }],
    });
  });

  test('names statuses; of two names the first stays', async () => {
    const reader = new StateReader({}, { idle: 0, waiting: 0, parsing: 20 });
    expect((await reader.read(defaultState('job', 0, 'a'))).statusName).toBe('idle');
    expect(await reader.read({ ...defaultState('job', 0, 'a'), status: 9 })).not.toHaveProperty(
      'statusName',
    );
  });

  test('returns the same object if nothing was configured', async () => {
    const state = stateWith({ rows: 1 });
    const reader = new StateReader();
    expect(reader.isPlain).toBe(true);
    expect(await reader.read(state)).toBe(state);
  });
});
