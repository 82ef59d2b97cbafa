// Faults that do not end the process: failed syncs, two owners of one store, a clock that goes back, and stops at any
// moment. Each check runs on the real code and on code with the bug it is named after.
import type { Storage } from '@syncline/kernel';
import type { SimulatedBody } from '@syncline/kernel/testing';
import type { Pipeline } from '@syncline/streams';
import { type CrashKind, crashTest } from '@syncline/streams/testing';
import { describe, expect, test } from 'vitest';
import { type Check, counting, numbers, proveCheck, startIn } from './checked-runs.js';
import {
  FAULT_BUGS,
  loadStreams,
  REAL_STREAMS,
  STOP_BUGS,
  type StreamsCode,
  SYNC_BUGS,
} from './planted-bug.js';

/** What goes wrong at every step of a run, and the bugs that this finds. */
const EVERY_STEP = [
  {
    trap: 'T13 X48 a failed sync ends the run, whichever it is, and the next start finds out what became durable',
    kinds: ['failSync'],
    bugs: SYNC_BUGS,
  },
  {
    trap: 'T27 a run that is aborted or stopped at any step ends cleanly, and another one continues',
    kinds: ['abort', 'stop'],
    bugs: STOP_BUGS,
  },
] as const;

async function failuresOf(
  code: StreamsCode,
  kinds: readonly CrashKind[],
): Promise<readonly string[]> {
  const { failures, states } = await crashTest(() => ({ pipeline: counting(code) }), {
    kinds,
    failuresMax: 1,
    startWith: code.start,
    start: { keyGroups: 4 },
  });
  if (failures.length === 0) expect(states).toBeGreaterThan(20);
  return failures;
}

for (const { trap, kinds, bugs } of EVERY_STEP) {
  describe(trap, () => {
    test('the real code', async () => {
      expect(await failuresOf(REAL_STREAMS, kinds)).toEqual([]);
    });

    for (const [bug, edits] of Object.entries(bugs)) {
      test(`finds the planted bug: ${bug}`, async () => {
        expect(await failuresOf(await loadStreams(bug, edits), kinds)).not.toEqual([]);
      });
    }
  });
}

async function linesOf({ files }: SimulatedBody): Promise<readonly string[]> {
  let text = '';
  for (const name of await files.list('out')) {
    if (!name.startsWith('part-')) continue;
    text += Buffer.from(await files.readAt(`out/${name}`, 0, 1e6)).toString();
  }
  return text.split('\n').filter((line) => line !== '');
}

const TOTALS = (() => {
  const totals = [0, 0, 0, 0, 0];
  return numbers(100).map((n) => {
    const total = (totals[n % 5] ?? 0) + n;
    totals[n % 5] = total;
    return String(total);
  });
})();

/** Each line of the input is a wall time at which a timer fires, which then becomes a line of the output. */
function alarms(code: StreamsCode): Pipeline {
  return code.definePipeline('alarms', (p) => {
    p.source(code.jsonlSource<number>({ uid: 'in', files: ['in.jsonl'], follow: true, pollMs: 10 }))
      .keyBy(() => 'all')
      .process({
        uid: 'alarms',
        state: {},
        onItem(atMs: number, ctx) {
          ctx.setClockTimer(atMs);
        },
        onTimer({ atMs }, ctx) {
          ctx.emit(atMs);
        },
      })
      .to(code.fileSink({ uid: 'out', dir: 'out' }));
  });
}

const HOUR_MS = 3_600_000;

/** The clock goes back by an hour; what was due by the highest time seen still is, also after a restart. */
const turnClockBack: Check = async (world, code) => {
  const { files, clock, node } = world;
  await files.append('in.jsonl', Buffer.from(''));
  const first = await startIn(world, code, alarms(code));
  await clock.sleep(300);
  const highestMs = clock.nowMs();
  await clock.sleep(100);
  node.clock.step(-HOUR_MS);
  await files.append('in.jsonl', Buffer.from(`${highestMs}\n`));
  await clock.sleep(2_000);
  expect(await linesOf(world)).toEqual([String(highestMs)]); // a checkpoint came as well
  await first.stop();
  const second = await startIn(world, code, alarms(code));
  await files.append('in.jsonl', Buffer.from(`${highestMs - 1}\n${highestMs + HOUR_MS}\n`));
  await clock.sleep(2_000);
  expect(await linesOf(world)).toEqual([String(highestMs), String(highestMs - 1)]);
  await second.stop();
};

/** Every call of the storage is passed on, but without locking. */
function sharedStore(storage: Storage): Storage {
  return new Proxy(storage, {
    get(target, name) {
      if (name === 'close') return async () => {};
      const value: unknown = Reflect.get(target, name, target);
      return typeof value === 'function' ? value.bind(target) : value;
    },
  });
}

const checks: Readonly<Record<keyof typeof FAULT_BUGS, Check>> = {
  async 'T15 a process that lost its store to another one commits'(world, code) {
    const sums = () =>
      code.definePipeline('sums', (p) => {
        p.source(
          code.jsonlSource<number>({ uid: 'in', files: ['in.jsonl'], follow: true, pollMs: 10 }),
        ).to(code.fileSink({ uid: 'out', dir: 'out' }));
      });
    await world.files.append('in.jsonl', Buffer.from('1\n2\n'));
    const storage = await world.openStorage('state/db');
    const shared = { ...world, openStorage: async () => sharedStore(storage) };
    const first = await startIn(shared, code, sums());
    while (first.progress().epoch < 1) await world.clock.sleep(5);
    await world.clock.sleep(500);
    const second = await startIn(shared, code, sums());
    await world.files.append('in.jsonl', Buffer.from('3\n4\n'));
    await expect(first.finished).rejects.toMatchObject({ code: 'fenced' });
    await second.stop();
    expect(await linesOf(world)).toEqual(['1', '2', '3', '4']);
    await storage.close();
  },
  'T24 clock timers follow a clock that goes back': turnClockBack,
  'T24 the highest time seen is not stored': turnClockBack,
  'T24 intervals are measured with the wall clock': turnClockBack,
  async 'T27 stop forgets what was read'(world, code) {
    {
      await using run = await startIn(world, code, counting(code, { pauseAt: 50 }));
      while (run.progress().recordsIn < 50) await world.clock.sleep(5);
    }
    expect(await linesOf(world)).toEqual(TOTALS.slice(0, 50));
    const next = await startIn(world, code, counting(code));
    await next.finished;
    expect(await linesOf(world)).toEqual(TOTALS);
  },
};

describe('T15 T24 T27 faults that do not end the process', () => {
  for (const [bug, check] of Object.entries(checks)) {
    const edits = FAULT_BUGS[bug as keyof typeof FAULT_BUGS];
    test(`${bug}: found, and not in the real code`, () => proveCheck(bug, edits, check));
  }
});
