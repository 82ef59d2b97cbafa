import { afterEach, describe, expect, expectTypeOf, test } from 'vitest';
import { OpenStores } from '../conformance/open-stores.js';
import { schemaOf } from '../conformance/override-store.js';
import type { JsonObject, State } from '../job.js';
import type { JobEvent, JobSubscription, SetStateResult, Written } from '../job-store.js';
import { createJobManager } from './create-job-manager.js';

const stores = new OpenStores();
afterEach(() => stores.close());

// The output differs from the input: text goes in, a number comes out.
const rows = schemaOf((value: { readonly rows: string }) => ({ rows: Number(value.rows) }));
const tags = { ingest: { schema: rows }, export: {} };
const statuses = { parsing: 20, broken: -20 };

const open = () =>
  createJobManager(
    { store: stores.create(), jobId: 'typed', taskIndex: 0, numTasks: 1 },
    { tags, statuses },
  );
const openPlain = () =>
  createJobManager({
    store: stores.create(),
    jobId: 'plain',
    taskIndex: 0,
    numTasks: 1,
  });

type Manager = Awaited<ReturnType<typeof open>>;
type Plain = Awaited<ReturnType<typeof openPlain>>;

describe('types that follow from `tags` and `statuses`', () => {
  test('a declared tag with its payload, and nothing else, can be written', () => {
    const write = {} as Manager['setStarted'];
    expectTypeOf(write<'ingest'>).toBeCallableWith({ tag: 'ingest', payload: { rows: '7' } });
    expectTypeOf(write<'export'>).toBeCallableWith({ tag: 'export', payload: { any: ['json'] } });
    type Input<T extends 'ingest' | 'export'> = Parameters<typeof write<T>>[0];
    expectTypeOf<{ tag: 'ingets' }>().not.toExtend<Input<'ingest' | 'export'>>();
    expectTypeOf<{ tag: 'ingest'; payload: { rows: 7 } }>().not.toExtend<Input<'ingest'>>();
    expectTypeOf<{ tag: 'ingest'; payload: object }>().not.toExtend<Input<'ingest'>>();
  });

  test('a status is a number or a declared name', () => {
    type Input = Parameters<Manager['setState']>[0];
    expectTypeOf<{ tag: 'export'; status: 21; ifVersion: 1 }>().toExtend<Input>();
    expectTypeOf<{ tag: 'export'; status: 'parsing'; ifVersion: 1 }>().toExtend<Input>();
    expectTypeOf<{ tag: 'export'; status: 'parsed'; ifVersion: 1 }>().not.toExtend<Input>();
    type PlainInput = Parameters<Plain['setState']>[0];
    expectTypeOf<{ tag: 'export'; status: 'parsing'; ifVersion: 1 }>().not.toExtend<PlainInput>();
  });

  test('only a conditional write can be refused for its version', async () => {
    await using job = await open();
    const plain = await job.setState({ tag: 'export', status: 'parsing' });
    expectTypeOf(plain).toExtend<Written<unknown>>();
    const conditional = await job.setState({ tag: 'export', status: 3, ifVersion: 0 });
    expectTypeOf(conditional).toExtend<SetStateResult<unknown>>();
    expectTypeOf(conditional).not.toExtend<Written<unknown>>();
    expect([plain.applied, conditional.applied]).toEqual([true, false]);
  });

  test('what is read has the output of the schema, by its tag', async () => {
    await using job = await open();
    const { state } = await job.setStarted({ tag: 'ingest', payload: { rows: '7' } });
    expectTypeOf(state.payload).toEqualTypeOf<{ rows: number } | undefined>();
    expect(state.payload).toEqual({ rows: 7 });

    const any = await job.getState();
    if (any.tag === 'ingest') {
      expectTypeOf(any.payload).toEqualTypeOf<{ rows: number } | undefined>();
    } else {
      expectTypeOf(any.tag).toEqualTypeOf<'export'>();
      expectTypeOf(any.payload).toEqualTypeOf<JsonObject | undefined>();
    }
    expectTypeOf(await job.getState({ tag: 'export' }))
      .toHaveProperty('tag')
      .toEqualTypeOf<'export'>();
  });

  test('a subscription to one tag has its states', async () => {
    await using job = await open();
    await using events = job.subscribe({ tag: 'ingest' });
    type Event = typeof events extends JobSubscription<infer E> ? E : never;
    type Change = Extract<Event, { kind: 'change' }>;
    expectTypeOf<Change['state']['payload']>().toEqualTypeOf<{ rows: number } | undefined>();
    expectTypeOf<Event['kind']>().toEqualTypeOf<JobEvent['kind']>();
  });

  test('without tags every tag is a string and every payload a JSON object', async () => {
    await using job = await openPlain();
    const { state } = await job.setStarted({ tag: 'anything', payload: { a: 1 } });
    expectTypeOf(state.payload).toEqualTypeOf<JsonObject | undefined>();
    expectTypeOf(await job.getState()).toExtend<State>();
  });
});
