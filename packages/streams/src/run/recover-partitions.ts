// Where each partition continues after a start: its position is checked, and a lost one is accepted or refused.
import { type Logger, SynclineError } from '@syncline/kernel';
import type { Json, Source } from '../ends/source.js';
import { type Graph, invalid } from '../pipeline/graph.js';
import type { Head, PartitionMark } from '../store/layout.js';
import { acknowledge, type PartitionStart } from './engine.js';

export interface RecoverPartitionsDeps {
  readonly graph: Graph;
  readonly logger: Logger;
  readonly options: { readonly acceptLoss: readonly string[] };
}

/** How many partitions an error lists. */
const NAMES_MAX = 20;

/** Where each partition continues. Acknowledges the positions again. */
export async function checkPartitions(
  deps: RecoverPartitionsDeps,
  head: Head | undefined,
  signal: AbortSignal,
): Promise<readonly PartitionStart[]> {
  const starts: PartitionStart[] = [];
  const known = new Map<Source<unknown>, ReadonlySet<string>>();
  for (const { source } of deps.graph.sources) {
    const found = await source.partitions(signal);
    known.set(source, new Set([...found, ...Object.keys(head?.partitions[source.uid] ?? {})]));
  }
  checkAcceptLoss(deps.options.acceptLoss, [...known.values()]);
  for (const [source, partitions] of known) {
    const marks = { ...head?.partitions[source.uid] };
    const positions = new Map<string, Json>();
    for (const partition of partitions) {
      const mark = await checkedMark(deps, source, partition, marks[partition], signal);
      const isOpen = mark !== undefined && mark.position !== null && !mark.isEnded;
      if (isOpen) positions.set(partition, mark.position);
      starts.push({ source: source.uid, partition, mark });
    }
    await acknowledge(source, positions);
  }
  return starts;
}

/** Throws `invalid-argument` for a name that no partition has. */
function checkAcceptLoss(
  acceptLoss: readonly string[],
  partitions: readonly ReadonlySet<string>[],
): void {
  const unknown = acceptLoss.find((name) => !partitions.some((names) => names.has(name)));
  if (unknown === undefined) return;
  const names = [...new Set(partitions.flatMap((each) => [...each]))];
  const more = names.length > NAMES_MAX ? ` and ${names.length - NAMES_MAX} more` : '';
  const shown = names.slice(0, NAMES_MAX).join(', ') || 'none';
  throw invalid(
    'acceptLoss',
    `acceptLoss names "${unknown}", but the sources have partitions: ${shown}${more}`,
  );
}

/** Where to continue. A lost position, if accepted, becomes a new incarnation. */
async function checkedMark(
  { options, logger }: RecoverPartitionsDeps,
  source: Source<unknown>,
  partition: string,
  mark: PartitionMark | undefined,
  signal: AbortSignal,
): Promise<PartitionMark | undefined> {
  const position = mark?.position ?? null;
  if (mark === undefined || position === null || mark.isEnded) return mark;
  try {
    await source.check(partition, position, signal);
    return mark;
  } catch (thrown) {
    const isLost = thrown instanceof SynclineError && thrown.code === 'position-lost';
    if (!isLost || !options.acceptLoss.includes(partition)) throw thrown;
    logger.warn('position lost and accepted', { source: source.uid, partition });
    return { ...mark, position: null, count: 0, incarnation: mark.incarnation + 1 };
  }
}
