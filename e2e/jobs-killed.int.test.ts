// kill -9 of the server at any moment, again and again, while managers and plain stores write and subscribers of
// every scope follow: what was acknowledged is there, versions and revisions continue with no gaps, each stream is
// complete across all restarts of the server, and a repeat gives the first answer.
//
// JOBS_KILLS says how often; half of the kills interrupt synced writes only, half also buffered ones. After those all
// cursors reset, since the store cannot know that nothing was lost. JOBS_FIGURES=1 prints what was measured.
import { createRemoteJobStore } from '@syncline/jobs/grpc';
import type { Durability } from '@syncline/kernel';
import { expect, inject, test } from 'vitest';
import { startCluster } from './cluster.js';
import { tell } from './jobs-figures.js';
import { startKillLoad } from './jobs-kill-load.js';

const KILLS = Math.ceil(inject('jobsKills') / 2);
/** A job is used for this many runs of its server; then there is another one, so that checking stays quick. */
const LIVES_PER_JOB = 10;
const MS_PER_KILL = 30_000;
/** Reconnects soon, and never gives up: the server may be down for a while. */
const reconnect = { attempts: 10_000, initialMs: 50, maxMs: 200 };

test.concurrent.each<[string, readonly Durability[]]>([
  ['synced', ['synced']],
  ['synced and buffered', ['buffered', 'synced', 'buffered']],
])(
  'J1 J2 J3 J5 J6 J7 J8 J9 J10 J16 kill -9 under %s writes loses nothing and shows nothing twice',
  async (kind, durabilities) => {
    await using cluster = await startCluster({ nodes: 1 });
    const node = cluster.node(1);
    const victim = {
      get pid() {
        return node.pid;
      },
      kill: () => node.kill(),
      start: () => node.start(),
      open: () => createRemoteJobStore({ address: node.url('grpc'), reconnect }),
    };
    const figures = { answered: 0, repeated: 0, duplicates: 0, revisions: 0, events: 0 };
    for (let done = 0; done < KILLS; done += LIVES_PER_JOB) {
      await using load = await startKillLoad(victim, `job-${done}`, durabilities);
      const kills = Math.min(LIVES_PER_JOB, KILLS - done);
      for (let kill = 0; kill < kills; kill += 1) await load.kill(kill);
      await load.finish(kills, figures);
    }
    expect(figures.answered).toBeGreaterThan(KILLS * 10);
    tell(
      `${kind}: ${KILLS} kills, ${figures.answered} writes acknowledged, 0 lost; ${figures.repeated} repeats of answered writes and ${figures.duplicates} of others gave the first answer; ${figures.revisions} revisions, ${figures.events} events checked`,
    );
  },
  30_000 + KILLS * MS_PER_KILL,
);

declare module 'vitest' {
  interface ProvidedContext {
    readonly jobsKills: number;
  }
}
