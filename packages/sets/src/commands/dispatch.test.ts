// Which commands may run, when they run, and how failures are answered, on commands made for the purpose.
import { SynclineError } from '@syncline/kernel';
import { createSeededRandom } from '@syncline/kernel/testing';
import { describe, expect, test } from 'vitest';
import { PlainKeyspace } from '../testing/plain-keyspace.js';
import type { Command, CommandFlag } from './command.js';
import { CommandLookup } from './dispatch.js';
import { CommandRig } from './testing/command-rig.js';
import { transactionCommands } from './transactions/transaction-commands.js';

const broken = new SynclineError('storage-failed', 'the disk is gone');
const outOfMemory = "OOM command not allowed when used memory > 'maxmemory'.";

class GatedKeyspace extends PlainKeyspace {
  admissions = 0;
  gate: Promise<void> | undefined;

  constructor() {
    super({ random: createSeededRandom(1) });
  }

  override admitWrite(): Promise<void> | undefined {
    this.admissions += 1;
    return this.gate;
  }
}

function rigWith(command: Partial<Command> = {}) {
  const keyspace = new GatedKeyspace();
  const tried: Command = {
    name: 'try',
    arity: -2,
    flags: ['write'],
    group: 'set',
    summary: '',
    run: (context) => context.reply.simple('RAN'),
    ...command,
  };
  const table = new CommandLookup([tried, ...transactionCommands]);
  const rig = new CommandRig({ keyspace, table });
  return Object.assign(rig, { gated: keyspace });
}

test('a long read of a client that has left is not begun', async () => {
  let begun = 0;
  const rig = rigWith({
    flags: ['readonly'],
    estimate: (_, load) => load.reads(Number.POSITIVE_INFINITY),
    runLong: async () => {
      begun += 1;
    },
  });
  await rig.text('try', 'a');
  expect(begun).toBe(1);
  rig.client.stopReads();
  expect(await rig.text('try', 'a')).toContain('a client that has left');
  expect(begun).toBe(1);
});

describe('which commands may run', () => {
  test('without a password, only commands that need none', async () => {
    const rig = rigWith();
    rig.client.isAuthenticated = false;
    expect(await rig.text('foo')).toMatch(/^ERR unknown command 'foo'/);
    expect(await rig.text('try')).toMatch(/^ERR wrong number of arguments for 'try' command/);
    expect(await rig.text('try', 'a')).toBe('NOAUTH Authentication required.');
    const open = rigWith({ flags: ['no_auth'] });
    open.client.isAuthenticated = false;
    expect(await open.text('try', 'a')).toBe('RAN');
  });

  const phases = [
    ['loading', ['readonly'], 'LOADING Syncline is loading its sets'],
    ['loading', ['loading'], 'RAN'],
    ['closing', ['write'], 'ERR server is shutting down'],
    ['closing', ['readonly'], 'RAN'],
    ['failed', ['readonly'], 'MISCONF the disk is gone'],
    ['failed', ['write'], 'MISCONF the disk is gone'],
    ['failed', ['loading'], 'RAN'],
  ] as const;

  test.each(phases)('in phase %s a command with flags %j: %s', async (phase, flags, answer) => {
    const rig = rigWith({ flags: [...flags] as CommandFlag[] });
    Object.assign(rig.state, { phase, failure: broken });
    expect(await rig.text('try', 'a')).toBe(answer);
  });

  test.each(phases)('EXEC in phase %s with a queued %j', async (phase, flags, answer) => {
    const rig = rigWith({ flags: [...flags] as CommandFlag[] });
    await rig.send('MULTI');
    await rig.send('try', 'a');
    Object.assign(rig.state, { phase, failure: broken });
    const reply = await rig.send('EXEC');
    const because = answer.replace(/^ERR /, '');
    expect(reply).toEqual(
      answer === 'RAN'
        ? { kind: 'array', items: [{ kind: 'simple', text: 'RAN' }] }
        : { kind: 'error', text: `EXECABORT Transaction discarded because of: ${because}` },
    );
    expect(rig.client.queued).toBeUndefined();
  });

  test('a refused command makes its transaction fail', async () => {
    const rig = rigWith();
    await rig.send('MULTI');
    await rig.send('try');
    expect(await rig.text('EXEC')).toMatch(/^EXECABORT /);
  });

  test('what ran is counted, what was refused is not', async () => {
    const rig = rigWith();
    await rig.send('TRY', 'a');
    await rig.send('try');
    expect(rig.counted).toEqual(['try']);
    expect(rig.client.lastCommand).toBe('try');
  });
});

describe('above maxmemory', () => {
  test('what may add members is refused, everything else runs', async () => {
    const adding = rigWith({ flags: ['write', 'denyoom'] });
    const removing = rigWith({ flags: ['write'] });
    for (const rig of [adding, removing]) rig.state.isOutOfMemory = true;
    expect(await adding.text('try', 'a')).toBe(outOfMemory);
    expect(await removing.text('try', 'a')).toBe('RAN');
  });

  test('nothing is queued, and the transaction is broken', async () => {
    const rig = rigWith({ flags: ['readonly'] });
    await rig.send('MULTI');
    rig.state.isOutOfMemory = true;
    expect(await rig.text('try', 'a')).toBe(outOfMemory);
    expect(await rig.text('EXEC')).toMatch(/^EXECABORT Transaction discarded because of previous/);
  });

  test('EXEC is refused if it holds a command that may add members', async () => {
    const rig = rigWith({ flags: ['write', 'denyoom'] });
    await rig.send('MULTI');
    await rig.send('try', 'a');
    rig.state.isOutOfMemory = true;
    expect(await rig.text('EXEC')).toBe(
      `EXECABORT Transaction discarded because of: ${outOfMemory}`,
    );
    expect(await rig.text('EXEC')).toBe('ERR EXEC without MULTI');
  });
});

describe('when it runs', () => {
  const runLong: Command['runLong'] = async (context) => context.reply.simple('RAN LONG');
  const estimate: Command['estimate'] = ({ args }, load) => load.reads(Number(args.text(1)));

  test('at once if its work fits in a turn and the gate is open', () => {
    const rig = rigWith({ estimate, runLong });
    void rig.send('try', '16384');
    expect(rig.reply.values).toEqual([{ kind: 'simple', text: 'RAN' }]);
    expect(rig.gated.admissions).toBe(1);
    expect(rig.client.hasWalked, 'it may have taken long').toBe(true);
  });

  test('in slices if its work does not fit in a turn', async () => {
    const rig = rigWith({ estimate, runLong });
    expect(await rig.text('try', '16385')).toBe('RAN LONG');
    expect(rig.gated.admissions).toBe(0);
  });

  test('in slices if its sets have grown while it waited for the gate', async () => {
    let reads = 1;
    const rig = rigWith({ estimate: (_, load) => load.reads(reads), runLong });
    rig.gated.gate = Promise.resolve().then(() => {
      reads = 100_000;
    });
    expect(await rig.text('try', 'a')).toBe('RAN LONG');
  });

  test('a change that is too large for one operation runs in slices, without the reply so far', async () => {
    const run: Command['run'] = (context) => {
      context.reply.array(3);
      throw new SynclineError('limit-exceeded', 'too large');
    };
    const rig = rigWith({ run, runLong });
    expect(await rig.text('try', 'a')).toBe('RAN LONG');
    expect(rig.reply.values).toHaveLength(1);
    expect(await rigWith({ run }).text('try', 'a')).toBe('ERR too large');
  });

  test('a read does not ask for admission', async () => {
    const rig = rigWith({ flags: ['readonly'] });
    await rig.send('try', 'a');
    expect(rig.gated.admissions).toBe(0);
  });
});

describe('failures', () => {
  test('within the turn: what was written of the reply is replaced', async () => {
    const rig = rigWith({
      run: (context) => {
        context.reply.array(3);
        context.reply.integer(1);
        throw broken;
      },
    });
    expect(await rig.text('try', 'a')).toBe('MISCONF the disk is gone');
    expect(rig.reply.values).toHaveLength(1);
  });

  test('later: once a part of the reply has been sent, the connection is closed', async () => {
    const rig = rigWith({ waits: true, run: () => Promise.reject(broken) });
    expect(await rig.text('try', 'a')).toBe('MISCONF the disk is gone');
    rig.reply.rewind = () => false;
    expect(await rig.send('try', 'a')).toBeUndefined();
    expect(rig.cuts).toBe(1);
  });

  const bug = new TypeError('a bug');
  const throwing = () => {
    throw bug;
  };

  test('a bug is not sent as a reply', async () => {
    await expect(rigWith({ run: throwing }).send('try', 'a')).rejects.toBe(bug);
  });

  test('a bug in a long command reaches the caller, also when the client has gone', async () => {
    const rig = rigWith({
      estimate: (_, load) => load.reads(100_000),
      runLong: async () => {
        rig.gone.abort();
        throwing();
      },
    });
    await expect(rig.send('try', 'a')).rejects.toBe(bug);
  });

  test.each([
    [
      'throws',
      () => {
        throw broken;
      },
    ],
    ['rejects', () => Promise.reject(broken)],
  ])('a transaction ends when its admission %s', async (_, admitWrite) => {
    const rig = rigWith();
    await rig.send('MULTI');
    await rig.send('try', 'a');
    rig.gated.admitWrite = admitWrite;
    expect(await rig.text('EXEC')).toBe('MISCONF the disk is gone');
    expect(await rig.text('EXEC')).toBe('ERR EXEC without MULTI');
    expect(rig.facts.queueQuota.used).toBe(0);
  });

  test('a bug inside a transaction reaches the caller, also after waiting for the gate', async () => {
    const rig = rigWith({ run: throwing });
    rig.gated.gate = Promise.resolve();
    await rig.send('MULTI');
    await rig.send('try', 'a');
    rig.gone.abort();
    await expect(rig.send('EXEC')).rejects.toBe(bug);
  });
});
