// The guard that makes output to Redis exactly-once: a hash, stored next to the output, that records the current writer
// and how much output has been written.
//
// A script applies rows and updates the guard atomically, so the two always agree, even after Redis has lost the end of
// its log. It rejects an older generation, or an equal one with a different token; skips rows that were already
// applied; and detects when acknowledged output is missing. If a command fails midway, the guard points to exactly that
// command, so that nothing is applied twice on a retry.
//
// Fields of the hash: pipeline, generation, token; epoch, and n, the number of its rows that were applied; c, the
// number of commands of the next row that were applied; done, the last complete epoch; top, the last id of the guarded
// stream.
import { assert, SynclineError } from '@syncline/kernel';
import { streamsLimits } from '../limits.js';
import { checkFence, foreignOutput, lostOutput } from './end-error.js';
import {
  defineScript,
  type RedisArgument,
  RedisConnection,
  type RedisServer,
} from './redis-connection.js';
import type { CommitResult, Fence, OutboxPart, OutboxRow, OutboxSink, SinkMark } from './sink.js';

/** KEYS 1 guard, 2 stream if there is one. ARGV 1 pipeline, 2 generation, 3 token. */
const readGuard = `
local call, format = redis.call, string.format
local guard, stream = KEYS[1], KEYS[2]
local held = call('HMGET', guard, 'pipeline', 'generation', 'token', 'epoch', 'n', 'c', 'done', 'top')
local function answer(status, text)
  local list = { status, text or '' }
  for index = 1, 7 do list[index + 2] = held[index] or '' end
  return list
end
if held[1] then
  local mine, theirs = tonumber(ARGV[2]), tonumber(held[2])
  if held[1] ~= ARGV[1] or mine < theirs or (mine == theirs and held[3] ~= ARGV[3]) then
    return answer('refused')
  end
end
if stream then
  local top = '0-0'
  if call('EXISTS', stream) == 1 then
    local facts = call('XINFO', 'STREAM', stream)
    for index = 1, #facts, 2 do
      if facts[index] == 'last-generated-id' then top = facts[index + 1] end
    end
  end
  if top ~= (held[8] or '0-0') then return answer('foreign', top) end
end
`;

const claimScript = defineScript(`${readGuard}
call('HSET', guard, 'pipeline', ARGV[1], 'generation', ARGV[2], 'token', ARGV[3])
return answer('ok')
`);

/**
 * ARGV 4 epoch, 5 number of the first row, 6 number of rows, 7 `1` if they end the epoch, 8 and 9 the minimum epoch and
 * n that Redis must have; then for each row the number of commands, and for each command the number of words and the
 * words.
 */
const deliverScript = defineScript(`${readGuard}
local epoch, first, count = tonumber(ARGV[4]), tonumber(ARGV[5]), tonumber(ARGV[6])
local heldEpoch, n, c = tonumber(held[4] or 0), tonumber(held[5] or 0), tonumber(held[6] or 0)
local done = tonumber(held[7] or 0)
local leastEpoch, leastN = tonumber(ARGV[8]), tonumber(ARGV[9])
if not held[1] or heldEpoch < leastEpoch or (heldEpoch == leastEpoch and n < leastN) then
  return answer('lost')
end
if epoch <= done or epoch < heldEpoch then return answer('already') end
if epoch > heldEpoch then n, c = 0, 0 end
if n < first then return answer('lost') end
local place, problem = 10, nil
local row, isNew = first, false
while row < first + count and not problem do
  local commands, applied = tonumber(ARGV[place]), row == n and c or 0
  place = place + 1
  for command = 1, commands do
    local words = tonumber(ARGV[place])
    if row >= n and command > applied and not problem then
      local reply = redis.pcall(unpack(ARGV, place + 1, place + words))
      if type(reply) == 'table' and reply.err then
        problem = reply.err
      else
        c, isNew = command, true
      end
    end
    place = place + words + 1
  end
  if row >= n and not problem then
    n, c = row + 1, 0
    if stream then held[8] = format('%.0f-%.0f', epoch, row) end
  end
  row = row + 1
end
if ARGV[7] == '1' and not problem then done = epoch end
call('HSET', guard, 'pipeline', ARGV[1], 'generation', ARGV[2], 'token', ARGV[3],
  'epoch', ARGV[4], 'n', format('%.0f', n), 'c', format('%.0f', c), 'done', format('%.0f', done))
if stream and held[8] then call('HSET', guard, 'top', held[8]) end
if problem then return answer('failed', problem) end
return answer(isNew and 'committed' or 'already')
`);

interface RedisGuardDeps {
  readonly uid: string;
  readonly connection: RedisConnection;
  readonly guardKey: string;
  /** A stream that only this sink writes to. */
  readonly streamKey?: string;
}

/** A sink that applies the commands of each row exactly once. `n` is the number of the row in its epoch. */
export function guardedSink(
  server: RedisServer,
  keys: Pick<RedisGuardDeps, 'uid' | 'guardKey' | 'streamKey'>,
  commandsOf: (row: OutboxRow, epoch: number, n: number) => readonly Command[],
): OutboxSink {
  const connection = new RedisConnection(server);
  const guard = new RedisGuard({ ...keys, connection });
  return {
    kind: 'outbox',
    uid: keys.uid,
    contract: 'idempotent',
    mark: () => guard.mark(),
    claim: (fence) => guard.claim(fence),
    deliver: (part, fence) =>
      guard.deliver(part, fence, (row, n) => commandsOf(row, part.epoch, n)),
    close: async () => connection.close(),
  };
}

export function toWord(value: string | Uint8Array): string | Buffer {
  return typeof value === 'string' ? value : Buffer.from(value);
}

/** The words of one Redis command. */
export type Command = readonly RedisArgument[];

interface GuardState {
  readonly pipeline: string;
  readonly generation: number;
  readonly token: string;
  readonly epoch: number;
  readonly rows: number;
  readonly doneEpoch: number;
}

class RedisGuard {
  readonly #deps: RedisGuardDeps;
  readonly #keys: readonly string[];
  #claimedToken: string | undefined;
  /** The output that Redis has acknowledged to this process. If it has less, it has lost data. */
  #least: Pick<GuardState, 'epoch' | 'rows'> = { epoch: 0, rows: 0 };

  constructor(deps: RedisGuardDeps) {
    this.#deps = deps;
    this.#keys = deps.streamKey === undefined ? [deps.guardKey] : [deps.guardKey, deps.streamKey];
  }

  async mark(): Promise<SinkMark | null> {
    const { connection, guardKey } = this.#deps;
    const fields = ['pipeline', 'generation', 'token', 'epoch', 'n', 'c', 'done'];
    const reply = await this.#orForeign(() => connection.call('HMGET', guardKey, ...fields));
    return markOf(stateOf(reply as readonly unknown[]));
  }

  async claim(fence: Fence): Promise<SinkMark | null> {
    const state = await this.#run(fence, claimScript, []);
    this.#claimedToken = fence.token;
    this.#least = { epoch: state.epoch, rows: state.rows };
    return markOf(state);
  }

  /** Applies the commands of each row exactly once. */
  async deliver(
    part: OutboxPart,
    fence: Fence,
    commandsOf: (row: OutboxRow, n: number) => readonly Command[],
  ): Promise<CommitResult> {
    if (this.#claimedToken !== fence.token) await this.claim(fence);
    const { epoch, first, rows, isLast } = part;
    const rowsMax = streamsLimits.redisRowsPerScriptMax.value;
    let result: CommitResult = 'already';
    for (let start = 0; start < rows.length || start === 0; start += rowsMax) {
      const some = rows.slice(start, start + rowsMax);
      const endsEpoch = isLast && start + rowsMax >= rows.length;
      const words = some.flatMap((row, index) => encodeRow(commandsOf(row, first + start + index)));
      const { epoch: leastEpoch, rows: leastRows } = this.#least;
      const numbers = [epoch, first + start, some.length, endsEpoch ? 1 : 0, leastEpoch, leastRows];
      const state = await this.#run(fence, deliverScript, [...numbers, ...words], epoch);
      if (state.status === 'committed') result = 'committed';
      const end = first + start + some.length;
      if (epoch > leastEpoch || (epoch === leastEpoch && end > leastRows)) {
        this.#least = { epoch, rows: end };
      }
    }
    return result;
  }

  async #run(
    fence: Fence,
    script: ReturnType<typeof defineScript>,
    args: readonly RedisArgument[],
    epoch = 0,
  ): Promise<GuardState & { readonly status: string }> {
    const { uid, connection, streamKey } = this.#deps;
    const writer = [fence.pipeline, fence.generation, fence.token];
    const reply = (await this.#orForeign(() =>
      connection.script(script, this.#keys, [...writer, ...args]),
    )) as readonly unknown[];
    const [status, text] = [String(reply[0]), String(reply[1])];
    const state = stateOf(reply.slice(2));
    switch (status) {
      case 'ok':
      case 'committed':
      case 'already':
        return { ...(state ?? unclaimed(fence)), status };
      case 'refused':
        assert(state !== undefined, 'only a stored fence can refuse');
        checkFence(uid, state, fence);
        throw new SynclineError('fenced', `sink "${uid}": Redis refused the fence`);
      case 'foreign':
        throw foreignOutput(
          uid,
          `the last id of stream "${streamKey}" is ${text}, which this pipeline did not write`,
        );
      case 'lost':
        throw lostOutput(uid, markOf(state), epoch);
      case 'failed':
        throw foreignOutput(uid, `Redis refused to write a row (${text})`);
      default:
        throw new SynclineError('unavailable', `sink "${uid}": unexpected reply ${status}`);
    }
  }

  async #orForeign<R>(call: () => Promise<R>): Promise<R> {
    try {
      return await call();
    } catch (thrown) {
      if (!(thrown instanceof SynclineError) || !thrown.message.includes('WRONGTYPE')) throw thrown;
      const { uid } = this.#deps;
      throw foreignOutput(uid, `a key among ${this.#keys.join(', ')} has another type`);
    }
  }
}

function encodeRow(commands: readonly Command[]): readonly RedisArgument[] {
  return [commands.length, ...commands.flatMap((words) => [words.length, ...words])];
}

function unclaimed(fence: Fence): GuardState {
  return { ...fence, epoch: 0, rows: 0, doneEpoch: 0 };
}

function stateOf(fields: readonly unknown[]): GuardState | undefined {
  const [pipeline, generation, token, epoch, rows, , done] = fields.map((field) =>
    Buffer.isBuffer(field) ? field.toString() : '',
  );
  if (pipeline === undefined || pipeline === '') return undefined;
  return {
    pipeline,
    generation: Number(generation),
    token: token ?? '',
    epoch: Number(epoch),
    rows: Number(rows),
    doneEpoch: Number(done),
  };
}

function markOf(state: GuardState | undefined): SinkMark | null {
  if (state === undefined) return null;
  const { pipeline, generation, epoch, doneEpoch } = state;
  const mark = { pipeline, generation, epoch: doneEpoch };
  return epoch > doneEpoch ? { ...mark, partial: epoch } : mark;
}
