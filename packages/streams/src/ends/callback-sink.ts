// Passes the output to a function, and helps its consumer to drop duplicates.
//
// A call that fails, or whose outcome is unknown, is repeated. Calls are made in the order of (epoch, row) and only a
// suffix is ever repeated. A consumer that receives them in order therefore only needs to remember one place per sink;
// otherwise it remembers the ids of the most recent rows.
import { type OptionNames, refuseUnknownOptions, SynclineError } from '@syncline/kernel';
import { streamsLimits } from '../limits.js';
import { limitExceeded } from '../state/state-error.js';
import { optionMissing, unknownOutcome } from './end-error.js';
import type { OutboxRow, OutboxSink } from './sink.js';
import type { Json } from './source.js';

export interface CallbackContext {
  readonly epoch: number;
  /** Number of the first row within the epoch. */
  readonly first: number;
  /** Aborted when the run stops. */
  readonly signal: AbortSignal;
}

export interface CallbackSinkOptions {
  readonly uid: string;
  /** Called repeatedly with the same rows until it resolves. Rows have stable ids. */
  readonly call: (rows: readonly OutboxRow[], context: CallbackContext) => Promise<void>;
}

const SINK_OPTIONS: OptionNames<CallbackSinkOptions> = { uid: true, call: true };

export function callbackSink(options: CallbackSinkOptions): OutboxSink {
  refuseUnknownOptions(options, 'callbackSink', SINK_OPTIONS);
  const { uid, call } = options;
  if (typeof call !== 'function') throw optionMissing('callbackSink', 'call', 'a function');
  return {
    kind: 'outbox',
    uid,
    contract: 'dedup-at-consumer',
    mark: async () => null,
    async deliver({ epoch, first, rows }, _fence, signal) {
      try {
        await call(rows, { epoch, first, signal });
        return 'committed';
      } catch (thrown) {
        throw unknownOutcome(uid, thrown);
      }
    },
  };
}

export interface DeduplicatorOptions {
  /** How many ids `accept` remembers. A repeat of an older one is not recognized. Default 100,000. */
  readonly windowIds?: number;
  /** A value returned by `mark`, to continue from it. */
  readonly mark?: Json;
}

/**
 * For the consumer. Store `mark()` in the same transaction as the effects of the rows; if that fails, continue with a
 * new deduplicator created from the stored mark.
 */
export interface Deduplicator {
  /** Returns the new rows of an in-order delivery. Uses constant memory per sink. */
  acceptInOrder<R>(
    sink: string,
    place: { readonly epoch: number; readonly first: number },
    rows: readonly R[],
  ): readonly R[];
  /** Returns true if the id is not among the last `windowIds`. For out-of-order deliveries. */
  accept(id: string): boolean;
  /** A JSON value. */
  mark(): Json;
}

export function createDeduplicator(options: DeduplicatorOptions = {}): Deduplicator {
  refuseUnknownOptions(options, 'createDeduplicator', { windowIds: true, mark: true });
  const { windowIds = streamsLimits.deduplicatorIdsMax.value, mark = null } = options;
  if (!Number.isSafeInteger(windowIds) || windowIds < 1) {
    throw new SynclineError(
      'invalid-argument',
      `windowIds must be a positive integer, not ${windowIds}`,
      { details: { field: 'windowIds' } },
    );
  }
  const { places, ids } = parseMark(mark);
  const seen = new Set(ids.slice(-windowIds)); // oldest first
  return {
    acceptInOrder(sink, { epoch, first }, rows) {
      const [knownEpoch, knownRows] = places.get(sink) ?? [-1, 0];
      if (epoch < knownEpoch) return [];
      const skip = epoch === knownEpoch ? Math.max(0, knownRows - first) : 0;
      if (skip >= rows.length) return [];
      const { value: sinksMax } = streamsLimits.deduplicatorSinksMax;
      if (!places.has(sink) && places.size >= sinksMax)
        throw limitExceeded(
          'deduplicatorSinksMax',
          `more than ${sinksMax} sinks use this deduplicator`,
        );
      places.set(sink, [epoch, first + rows.length]);
      return rows.slice(skip);
    },
    accept(id) {
      if (seen.has(id)) return false;
      seen.add(id);
      if (seen.size > windowIds) {
        for (const oldest of seen) {
          seen.delete(oldest);
          break;
        }
      }
      return true;
    },
    mark: () => ({ places: Object.fromEntries(places), ids: [...seen] }),
  };
}

type Places = Map<string, readonly [epoch: number, rows: number]>;

function parseMark(mark: Json): { readonly places: Places; readonly ids: readonly string[] } {
  if (mark === null) return { places: new Map(), ids: [] };
  const { places, ids } = mark as { readonly places?: unknown; readonly ids?: unknown };
  const isPlaces =
    typeof places === 'object' && places !== null && Object.values(places).every(isPlace);
  const isIds = Array.isArray(ids) && ids.every((id) => typeof id === 'string');
  if (!isPlaces || !isIds) {
    throw new SynclineError(
      'invalid-argument',
      'the mark was not made by a deduplicator: it needs places and ids',
      { details: { field: 'mark' } },
    );
  }
  return { places: new Map(Object.entries(places)) as Places, ids };
}

function isPlace(value: unknown): boolean {
  return Array.isArray(value) && value.length === 2 && value.every(Number.isSafeInteger);
}
