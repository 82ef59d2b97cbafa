// Who may run, and what a failure is answered with, on commands made for the purpose.
import { SynclineError } from '@syncline/kernel';
import { createSeededRandom } from '@syncline/kernel/testing';
import { describe, expect, test } from 'vitest';
import { ByteList } from '../byte-list.js';
import { PlainKeyspace } from '../testing/plain-keyspace.js';
import { RecordedReply } from '../testing/recorded-reply.js';
import type { Client } from './client.js';
import type { Command, CommandContext } from './command.js';
import { dispatchOver } from './dispatch.js';
import { CommandLookup } from './lookup.js';
import type { ServerFacts } from './server-facts.js';

/** The words of a failing storage never matter to who asks. */
const broken = new SynclineError('storage-failed', 'the disk is gone');

class SlowKeyspace extends PlainKeyspace {
  readonly steps: string[] = [];
  gate: Promise<void> | undefined;
  reopening: Promise<void> | undefined;
  isLoaded = true;

  constructor() {
    super({ random: createSeededRandom(1) });
  }

  override admit(kind?: 'read' | 'write'): undefined {
    if (kind === 'read') return this.reopening as undefined;
    this.steps.push('admit');
    return this.gate as undefined;
  }

  override cardinality(args: ByteList, key: number): number {
    if (this.reopening !== undefined) throw new SynclineError('unavailable', 'opened anew');
    return super.cardinality(args, key);
  }

  override isWhole(): boolean {
    return this.isLoaded;
  }

  override async bringIn(): Promise<void> {
    this.steps.push('bring');
  }
}

function desk(command: Partial<Command> = {}) {
  const keyspace = new SlowKeyspace();
  const reply = new RecordedReply();
  const counted: string[] = [];
  const state = { phase: 'serving' as ReturnType<ServerFacts['phase']>, cuts: 0 };
  const client = {
    gone: new AbortController().signal,
    isAuthenticated: true,
    queued: undefined as Client['queued'],
    isQueueBroken: false,
    lastCommand: '',
    lastCounter: 0,
    hasWalked: false,
    cut: () => {
      state.cuts += 1;
    },
  };
  const facts = { phase: () => state.phase, countCommand: (name: string) => counted.push(name) };
  const tried: Command = {
    name: 'try',
    arity: -2,
    flags: ['write'],
    group: 'set',
    summary: '',
    run: (context) => context.reply.simple('RAN'),
    ...command,
  };
  const dispatch = dispatchOver(new CommandLookup([tried]));
  const send = async (...words: readonly string[]) => {
    const args = ByteList.of(...words.map((word) => Buffer.from(word)));
    reply.values.length = 0;
    await dispatch({ args, reply, keyspace, client, facts } as unknown as CommandContext);
    const [value] = reply.values;
    return value !== undefined && 'text' in value ? value.text : value;
  };
  return { send, keyspace, reply, client, state, counted };
}

describe('who may run', () => {
  test('a client without a password, only what is open to all', async () => {
    const { send, client } = desk();
    client.isAuthenticated = false;
    expect(await send('foo')).toMatch(/^ERR unknown command 'foo'/);
    expect(await send('try')).toMatch(/^ERR wrong number of arguments for 'try' command/);
    expect(await send('try', 'a')).toBe('NOAUTH Authentication required.');
    const open = desk({ flags: ['no_auth'] });
    open.client.isAuthenticated = false;
    expect(await open.send('try', 'a')).toBe('RAN');
  });

  test('while sets are loaded, only what says nothing of them', async () => {
    const { send, state } = desk();
    state.phase = 'loading';
    expect(await send('try', 'a')).toBe('LOADING Syncline is loading its sets from a peer');
    const loadable = desk({ flags: ['loading'] });
    loadable.state.phase = 'loading';
    expect(await loadable.send('try', 'a')).toBe('RAN');
  });

  test('at the end, no write', async () => {
    const { send, state } = desk();
    state.phase = 'closing';
    expect(await send('try', 'a')).toBe('ERR server is shutting down');
    const reading = desk({ flags: ['readonly'] });
    reading.state.phase = 'closing';
    expect(await reading.send('try', 'a')).toBe('RAN');
  });

  test('a refused command breaks the transaction that it was meant for', async () => {
    const { send, client } = desk();
    client.queued = [];
    await send('try');
    expect(client.isQueueBroken).toBe(true);
  });

  test('what ran is counted, what was refused is not', async () => {
    const { send, counted, client } = desk();
    await send('TRY', 'a');
    await send('try');
    expect(counted).toEqual(['try']);
    expect(client.lastCommand).toBe('try');
  });
});

describe('when it runs', () => {
  const walks = () => ({ kind: 'sets' as const, from: 1, to: 2, removes: false });
  const runLong: Command['runLong'] = async (context) => context.reply.simple('RAN LONG');

  test('at once when its sets are at hand and the gate is open', () => {
    const { send, keyspace, reply, client } = desk({ walks });
    void send('try', 'a');
    expect(client.hasWalked, 'it may have taken long').toBe(true);
    expect(reply.values).toEqual([{ kind: 'simple', text: 'RAN' }]);
    expect(keyspace.steps).toEqual(['admit']);
  });

  test('only when its sets can be looked up, while the storage is opened anew', async () => {
    const { send, keyspace } = desk({ walks });
    keyspace.reopening = Promise.resolve().then(() => {
      keyspace.reopening = undefined;
    });
    expect(await send('try', 'a')).toBe('RAN');
  });

  test('sets come first and the gate comes last', async () => {
    const { send, keyspace } = desk({ walks, runLong });
    keyspace.isLoaded = false;
    const bringIn = keyspace.bringIn.bind(keyspace);
    keyspace.bringIn = async () => {
      await bringIn();
      keyspace.isLoaded = true;
    };
    expect(await send('try', 'a')).toBe('RAN');
    expect(keyspace.steps).toEqual(['bring', 'admit']);
  });

  test('sets that leave while it waits for the gate make it run beyond a turn', async () => {
    const { send, keyspace } = desk({ walks, runLong });
    keyspace.gate = Promise.resolve().then(() => {
      keyspace.isLoaded = false;
    });
    expect(await send('try', 'a')).toBe('RAN LONG');
  });

  test('sets that do not fit make it run beyond a turn', async () => {
    const { send, keyspace } = desk({ walks, runLong });
    keyspace.isLoaded = false;
    expect(await send('try', 'a')).toBe('RAN LONG');
  });

  test('a change that is too large for one operation goes the long way', async () => {
    const run = () => {
      throw new SynclineError('limit-exceeded', 'too large');
    };
    expect(await desk({ run, runLong }).send('try', 'a')).toBe('RAN LONG');
    expect(await desk({ run }).send('try', 'a')).toBe('ERR too large');
  });
});

describe('failures', () => {
  test('within the turn: what was written is taken back', async () => {
    const { send, reply } = desk({
      run: (context) => {
        context.reply.array(3);
        context.reply.integer(1);
        throw broken;
      },
    });
    expect(await send('try', 'a')).toBe('MISCONF the disk is gone');
    expect(reply.values).toHaveLength(1);
  });

  test('later: when a part of the answer has left, the connection ends', async () => {
    const { send, reply, state } = desk({ waits: true, run: () => Promise.reject(broken) });
    expect(await send('try', 'a')).toBe('MISCONF the disk is gone');
    reply.rewind = () => false;
    expect(await send('try', 'a')).toBeUndefined();
    expect(state.cuts).toBe(1);
  });

  test('a bug of ours is nobody’s answer', async () => {
    const { send } = desk({
      run: () => {
        throw new TypeError('a bug');
      },
    });
    await expect(send('try', 'a')).rejects.toThrow('a bug');
  });
});
