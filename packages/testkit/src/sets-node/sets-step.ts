// The sets after one operation, as a plain model has them. One node makes all operations here, so every
// element has one dot.
//
// S2  The members are those of the tag model: an operation drops exactly the dots of what it changes.
// S3  Each element that is added takes one counter, each remove takes one in all.
// S4  Counters have no gaps.
import {
  type ActorId,
  assert,
  dot as dotOf,
  formatActor,
  formatDot,
  VersionVector,
} from '@syncline/kernel';
import type { JournalOperation } from './journal-operation.js';

export interface SetsStep {
  /** From each element to its dot. */
  readonly content: ReadonlyMap<string, string>;
  readonly version: ReadonlyMap<ActorId, number>;
  /** What led here; undefined where nothing is. */
  readonly operation: JournalOperation | undefined;
}

export const firstStep: SetsStep = {
  content: new Map(),
  version: new Map(),
  operation: undefined,
};

export function stepAfter(before: SetsStep, operation: JournalOperation): SetsStep {
  const { actor, base, count, adds, removes, dropped } = operation;
  const name = `the operation ${formatDot(dotOf(actor, base))}`;
  const last = before.version.get(actor) ?? 0;
  assert(base === last + 1, `S4: ${name} follows ${formatActor(actor)}:${last}`);
  assert(count === Math.max(1, adds.length), `S3: ${name} of ${adds.length} adds takes ${count}`);
  const changed = new Set([...adds, ...removes]);
  assert(changed.size === adds.length + removes.length, `S2: ${name} names an element twice`);
  assert(changed.size > 0, `S2: ${name} changes nothing`);
  const absent = removes.find((element) => !before.content.has(element));
  assert(absent === undefined, `S2: ${name} removes ${absent}, which is absent`);
  const had = [...changed].flatMap((element) => before.content.get(element) ?? []);
  assert(
    had.toSorted().join() === dropped.toSorted().join(),
    `S2: ${name} drops ${dropped.join()}, its elements had ${had.join()}`,
  );
  const content = new Map(before.content);
  for (const element of removes) content.delete(element);
  for (const [index, element] of adds.entries())
    content.set(element, formatDot(dotOf(actor, base + index)));
  const version = new Map(before.version).set(actor, base + count - 1);
  return { content, version, operation };
}

/** As SYNCLINE.VV writes it. */
export function versionText({ version }: SetsStep): string {
  return String(
    VersionVector.of(...Array.from(version, ([actor, counter]) => dotOf(actor, counter))),
  );
}

export function contentText(content: ReadonlyMap<string, string>): string {
  return Array.from(content, ([element, dot]) => `${element}=${dot}`)
    .sort()
    .join(' ');
}
