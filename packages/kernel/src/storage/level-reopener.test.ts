// Every event in every state. The table has no gaps: a new state or event does not compile until every cell is
// filled in.
import { describe, expect, it } from 'vitest';
import { SynclineError } from '../error.js';
import { silentLogger } from '../logger.js';
import { LevelReopener, type ReopenableHandle } from './level-reopener.js';
import { fullStore } from './level-room.js';

type State = 'open' | 'full' | 'full, unreadable' | 'failed' | 'failed, unreadable';
type Event =
  | 'read'
  | 'wait to read'
  | 'write, with room'
  | 'write, without room'
  | 'write, room but no luck'
  | 'write, damaged on opening';

/** What the caller gets, and the state afterwards. */
type Expected = readonly [answer: 'ok' | SynclineError['code'], next: State];

const TABLE: Readonly<Record<State, Readonly<Record<Event, Expected>>>> = {
  open: {
    read: ['ok', 'open'],
    'wait to read': ['ok', 'open'],
    'write, with room': ['ok', 'open'],
    'write, without room': ['ok', 'open'],
    'write, room but no luck': ['ok', 'open'],
    'write, damaged on opening': ['ok', 'open'],
  },
  full: {
    read: ['ok', 'full'],
    'wait to read': ['ok', 'full'],
    'write, with room': ['ok', 'open'],
    'write, without room': ['storage-full', 'full'],
    'write, room but no luck': ['storage-full', 'full, unreadable'],
    'write, damaged on opening': ['storage-failed', 'failed, unreadable'],
  },
  'full, unreadable': {
    read: ['unavailable', 'full, unreadable'],
    'wait to read': ['ok', 'open'],
    'write, with room': ['ok', 'open'],
    'write, without room': ['storage-full', 'full, unreadable'],
    'write, room but no luck': ['storage-full', 'full, unreadable'],
    'write, damaged on opening': ['storage-failed', 'failed, unreadable'],
  },
  failed: {
    read: ['ok', 'failed'],
    'wait to read': ['ok', 'failed'],
    'write, with room': ['storage-failed', 'failed'],
    'write, without room': ['storage-failed', 'failed'],
    'write, room but no luck': ['storage-failed', 'failed'],
    'write, damaged on opening': ['storage-failed', 'failed'],
  },
  'failed, unreadable': {
    read: ['corrupt', 'failed, unreadable'],
    'wait to read': ['corrupt', 'failed, unreadable'],
    'write, with room': ['storage-failed', 'failed, unreadable'],
    'write, without room': ['storage-failed', 'failed, unreadable'],
    'write, room but no luck': ['storage-failed', 'failed, unreadable'],
    'write, damaged on opening': ['storage-failed', 'failed, unreadable'],
  },
};

const NO_ROOM = new Error('IO error: /data/000003.log: No space left on device');
const ROOM = { bytesFree: 1, bytesNeeded: 2 };

/** A scripted disk, and a store on it. */
function createReopener() {
  const disk = { hasRoom: true, opening: 'ok' as 'ok' | 'full' | 'corrupt' };
  const handles: FakeHandle[] = [];
  const newHandle = () => {
    const handle = new FakeHandle();
    handles.push(handle);
    return handle;
  };
  const reopener = new LevelReopener<FakeHandle>(
    {
      logger: silentLogger,
      async openHandle() {
        if (disk.opening === 'full') throw fullStore('/data', ROOM);
        if (disk.opening === 'corrupt') throw new SynclineError('corrupt', 'damaged');
        return newHandle();
      },
      measureRoom: async () => ROOM,
      async provideRoom() {
        if (!disk.hasRoom) throw fullStore('/data', ROOM);
      },
    },
    newHandle(),
  );
  return { disk, reopener, handles };
}

class FakeHandle implements ReopenableHandle {
  readonly directory = '/data';
  closedError: SynclineError | undefined;

  async close(error: () => SynclineError): Promise<void> {
    this.closedError = error?.() ?? new SynclineError('closed', 'closed');
  }
}

type World = ReturnType<typeof createReopener>;

const ENTER: Readonly<Record<State, (world: World) => Promise<void>>> = {
  async open() {},
  async full({ reopener }) {
    await reopener.writeFailed(NO_ROOM, { writeBytes: 10, isLogged: false });
  },
  async 'full, unreadable'(world) {
    await ENTER.full(world);
    await answerOf(() => HAPPEN['write, room but no luck'](world));
  },
  async failed({ reopener }) {
    await reopener.writeFailed(new Error('IO error: /data/000003.log: Input/output error'), {
      writeBytes: 10,
      isLogged: false,
    });
  },
  async 'failed, unreadable'(world) {
    await ENTER.full(world);
    await answerOf(() => HAPPEN['write, damaged on opening'](world));
  },
};

const HAPPEN: Readonly<Record<Event, (world: World) => Promise<unknown>>> = {
  read: async ({ reopener }) => reopener.readable(),
  'wait to read': async ({ reopener, disk }) => {
    disk.opening = 'ok';
    await reopener.whenReadable();
  },
  'write, with room': ({ reopener, disk }) => {
    Object.assign(disk, { hasRoom: true, opening: 'ok' });
    return reopener.writable(10);
  },
  'write, without room': ({ reopener, disk }) => {
    Object.assign(disk, { hasRoom: false, opening: 'full' });
    return reopener.writable(10);
  },
  'write, room but no luck': ({ reopener, disk }) => {
    Object.assign(disk, { hasRoom: true, opening: 'full' });
    return reopener.writable(10);
  },
  'write, damaged on opening': ({ reopener, disk }) => {
    Object.assign(disk, { hasRoom: true, opening: 'corrupt' });
    return reopener.writable(10);
  },
};

async function answerOf(run: () => Promise<unknown>): Promise<string> {
  try {
    await run();
    return 'ok';
  } catch (thrown) {
    return SynclineError.from(thrown).code;
  }
}

async function stateOf({ reopener }: World): Promise<string> {
  const health = reopener.health().kind;
  const isReadable = (await answerOf(async () => reopener.readable())) === 'ok';
  return `${health === 'ok' ? 'open' : health}${isReadable ? '' : ', unreadable'}`;
}

describe('the reopener of a LevelDB store', () => {
  for (const [state, events] of Object.entries(TABLE)) {
    for (const [event, [answer, next]] of Object.entries(events)) {
      it(`K16 K17 ${state}: ${event} gives ${answer}, then ${next}`, async () => {
        const world = createReopener();
        await ENTER[state as State](world);
        expect(await stateOf(world)).toBe(state);
        expect(await answerOf(() => HAPPEN[event as Event](world))).toBe(answer);
        expect(await stateOf(world)).toBe(next);
      });
    }
  }

  it('reports a full disk as not applied, with the space that is needed', async () => {
    const { reopener } = createReopener();
    const error = await reopener.writeFailed(NO_ROOM, { writeBytes: 10, isLogged: false });
    expect(error).toMatchObject({ code: 'storage-full', outcome: 'not-applied', retryable: true });
    expect(error.details).toEqual({ directory: '/data', ...ROOM });
    expect(reopener.health()).toEqual({ kind: 'full', reason: error.message });
  });

  it('K17 treats a full disk as a failed one if the write is in the log: the next opening would apply it', async () => {
    const { reopener } = createReopener();
    const error = await reopener.writeFailed(NO_ROOM, { writeBytes: 10, isLogged: true });
    expect(error).toMatchObject({ code: 'storage-failed', outcome: 'unknown', retryable: false });
    expect(reopener.health().kind).toBe('failed');
    await expect(reopener.writable(1)).rejects.toMatchObject({ code: 'storage-failed' });
  });

  it('K17 reports the outcome of an I/O error as unknown, and later writes as not attempted', async () => {
    const { reopener } = createReopener();
    const error = await reopener.writeFailed(
      new Error('IO error: /data/1.log: Input/output error'),
      {
        writeBytes: 1,
        isLogged: false,
      },
    );
    expect(error).toMatchObject({ code: 'storage-failed', outcome: 'unknown', retryable: false });
    await expect(reopener.writable(1)).rejects.toMatchObject({ outcome: 'not-applied' });
  });

  it('K16 closes the old handle before the new one opens, with an error for its readers that says why', async () => {
    const world = createReopener();
    await ENTER.full(world);
    const handle = await world.reopener.writable(10);
    expect(handle).toBe(world.handles[1]);
    expect(world.handles[0]?.closedError).toMatchObject({ code: 'unavailable', retryable: true });
  });

  it('makes readers and writers wait while it reopens', async () => {
    const world = createReopener();
    await ENTER.full(world);
    const first = world.reopener.writable(10);
    while (world.reopener.health().kind !== 'reopening') await Promise.resolve();
    expect(() => world.reopener.readable()).toThrow(
      expect.objectContaining({ code: 'unavailable' }),
    );
    const second = world.reopener.writable(10);
    await world.reopener.whenReadable();
    expect(await first).toBe(await second);
    expect(world.handles.length).toBe(2);
  });

  it('K17 fails permanently when the free space cannot be measured after a failed write', async () => {
    const { reopener } = createReopener();
    const broken = new LevelReopener(
      {
        logger: silentLogger,
        openHandle: async () => new FakeHandle(),
        measureRoom: () => Promise.reject(new Error('EIO: i/o error, statfs')),
        provideRoom: async () => {},
      },
      reopener.readable(),
    );
    expect(await broken.writeFailed(NO_ROOM, { writeBytes: 1, isLogged: false })).toMatchObject({
      code: 'storage-failed',
    });
    expect(broken.health().kind).toBe('failed');
  });
});
