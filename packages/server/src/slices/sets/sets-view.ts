// The dashboard's views of the sets: this node with its peers, the sets page by page, and the members of one set.
//
// Names and members are bytes. The page gets them as text, truncated if they are long, together with the full name
// as base64url, which it uses in URLs.
import { SynclineError } from '@syncline/kernel';
import type { Sets } from '@syncline/sets';
import { type LiveView, snapshotSource } from '../../dashboard/live-view.js';
import type { RateDefinition } from '../../dashboard/rate-history.js';
import { integerParameter } from '../../http/query-parameters.js';
import { serverLimits } from '../../limits.js';
import { setsFacts } from './sets-routes.js';

const INTERVAL_MS = 1_000;
const POSITION = { min: 0, max: Number.MAX_SAFE_INTEGER };

export const setsRates: readonly RateDefinition[] = [
  { name: 'commands', metric: 'syncline_sets_commands_total' },
  { name: 'operations', metric: 'syncline_sets_operations_total' },
];

export interface SetsViewDeps {
  readonly sets: Sets;
  readonly nodeId: number;
}

export function setsViews({ sets, nodeId }: SetsViewDeps): readonly LiveView[] {
  const isLoading = () => sets.status().health === 'loading';
  const node = async () => {
    const facts = setsFacts(sets);
    await sets.settled();
    return { nodeId, ...facts };
  };
  return [
    {
      name: 'sets',
      parameters: ['from'],
      open(query, { rates }) {
        const position = integerParameter(query, 'from', POSITION) ?? 0;
        return snapshotSource(INTERVAL_MS, async () => {
          const page = isLoading()
            ? { sets: [], next: 0 }
            : sets.scanSets({ position, count: PAGE_COUNT });
          return {
            ...(await node()),
            rates: rates.of('sets'),
            list: page.sets
              .slice(0, serverLimits.liveListMax.value)
              .map(({ name, cardinality }) => ({ ...shownBytes(name), cardinality })),
            next: page.next,
          };
        });
      },
    },
    {
      name: 'set',
      parameters: ['set', 'from'],
      open(query) {
        const position = integerParameter(query, 'from', POSITION) ?? 0;
        const name = setNameOf(query.get('set') ?? '');
        return snapshotSource(INTERVAL_MS, async () => {
          const page = isLoading()
            ? { members: [], next: 0 }
            : sets.scanMembers(name, { position, count: PAGE_COUNT });
          await sets.settled();
          return {
            set: shownBytes(name),
            cardinality: sets.cardinality(name),
            isLoading: isLoading(),
            members: page.members.slice(0, serverLimits.liveListMax.value).map(shownBytes),
            next: page.next,
          };
        });
      },
    },
  ];
}

/** Half of what fits: entries at the same position are never split, so a page can be longer than this. */
const PAGE_COUNT = serverLimits.liveListMax.value / 2;

interface ShownBytes {
  readonly text: string;
  /** The whole name, base64url. */
  readonly id: string;
  readonly bytes: number;
  /** Not valid UTF-8: `text` has replacement characters. */
  readonly isBinary: boolean;
}

function shownBytes(value: Uint8Array): ShownBytes {
  const buffer = Buffer.from(value.buffer, value.byteOffset, value.byteLength);
  const { value: bytesMax } = serverLimits.liveNameBytesMax;
  const text = buffer.subarray(0, bytesMax).toString('utf8');
  const isBinary = value.length <= bytesMax && !Buffer.from(text, 'utf8').equals(buffer);
  const id = value.length <= ID_BYTES_MAX ? buffer.toString('base64url') : '';
  return { text, id, bytes: value.length, isBinary };
}

/** What fits into a URL. A set with a longer name cannot be opened on the dashboard. */
const ID_BYTES_MAX = 2_048;

function setNameOf(id: string): Uint8Array {
  if (/^[\w-]+$/.test(id)) return Buffer.from(id, 'base64url');
  throw new SynclineError(
    'invalid-argument',
    `set is ${JSON.stringify(id.slice(0, 100))}; expected the name of a set as base64url.`,
    { details: { field: 'set' } },
  );
}
