// A job's source as the store that the kernel's feed reads.
import type { FeedStore, FeedView } from '@syncline/kernel';
import type { JobChange } from '../core/rows.js';
import { JobFeedChange } from './feed-change.js';
import type { JobFeedSource } from './job-feed-source.js';
import { type JobFilter, matchesFilter } from './job-filter.js';
import { filterTopics } from './job-topics.js';

export class SourceStore implements FeedStore<JobFeedChange, JobFilter> {
  readonly #source: JobFeedSource;
  readonly #currentBase: () => string;

  constructor(source: JobFeedSource, currentBase: () => string) {
    this.#source = source;
    this.#currentBase = currentBase;
  }

  revision(): number {
    return this.#source.revision();
  }

  async reach(revision: number, signal: AbortSignal): Promise<void> {
    await this.#source.reach?.(revision, signal);
  }

  async view(filter: JobFilter, signal: AbortSignal): Promise<FeedView<JobFeedChange>> {
    const view = await this.#source.view(filter, signal);
    const base = this.#currentBase();
    return {
      revision: view.revision,
      compactedTo: view.compactedTo,
      latest: (after) => feedPages(view.latest(after), base),
      changes: (after) => feedPages(view.changes(after), base),
      onWanted: (letGo) => view.onWanted?.(letGo),
      close: () => view.close(),
    };
  }

  isInScope(filter: JobFilter, { change }: JobFeedChange): boolean {
    return matchesFilter(filter, change);
  }

  topicsOfScope(filter: JobFilter): readonly string[] {
    return filterTopics(filter);
  }

  topicsOfChange(change: JobFeedChange): readonly string[] {
    return change.topics;
  }

  bytesOf(change: JobFeedChange): number {
    return change.bytes;
  }
}

async function* feedPages(
  pages: AsyncIterable<readonly JobChange[]>,
  base: string,
): AsyncGenerator<readonly JobFeedChange[]> {
  for await (const page of pages) yield page.map((change) => new JobFeedChange(change, base, 0));
}
