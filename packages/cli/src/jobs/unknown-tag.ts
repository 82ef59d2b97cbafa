// A tag with a typo looks like one that nobody has begun: a watch of it would wait for ever. So it is told, and
// nothing more, since a tag that is not declared may still be written.
import type { Scope } from '@syncline/jobs';
import { type CliWorld, say } from '../cli-world.js';
import { printable } from '../printable.js';
import type { StatusTarget } from '../status/status-target.js';
import { fetchJob } from './job-target.js';

/** More would push the warning off the screen. */
const SHOWN_TAGS_MAX = 20;

export interface AskedScope {
  readonly target: StatusTarget;
  readonly jobId: string;
  readonly scope: Scope;
}

export async function tellUnknownTag(
  world: CliWorld,
  { target, jobId, scope: { tag } }: AskedScope,
): Promise<void> {
  if (tag === undefined) return;
  const { progress } = await fetchJob(target, jobId, {}); // its tags are those expected or written
  const known = progress.tags.map((row) => row.tag);
  if (!known.includes(tag)) say(world, unknownTagText(tag, known));
}

export function unknownTagText(tag: string, known: readonly string[]): string {
  const shown = known.slice(0, SHOWN_TAGS_MAX).map(printable).join(', ');
  const more = known.length > SHOWN_TAGS_MAX ? ` and ${known.length - SHOWN_TAGS_MAX} more` : '';
  const there = known.length === 0 ? 'There is no tag yet.' : `There are: ${shown}${more}.`;
  return `🟡 No task has written tag "${printable(tag)}", and it is not expected. ${there}`;
}
