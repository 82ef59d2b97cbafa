// kill -9 of PostgreSQL at any moment, again and again, under the writers and followers of three stores that share it: what
// was acknowledged is there, versions and revisions continue with no gaps, and each stream is complete across
// all restarts.
//
// JOBS_POSTGRES_KILLS says how often. JOBS_FIGURES=1 prints what was measured.
import { createPostgresJobStore } from '@syncline/jobs/postgres';
import { startPostgres } from '@syncline/testkit';
import { expect, inject, test } from 'vitest';
import { tell } from './jobs-figures.js';
import { startKillLoad } from './jobs-kill-load.js';

const KILLS = inject('jobsPostgresKills');
const LIVES_PER_JOB = 10;
const MS_PER_KILL = 30_000;

test(
  'J1 J2 J3 J5 J6 J7 J8 J9 J10 J16 kill -9 of PostgreSQL loses nothing and shows nothing twice',
  async () => {
    await using server = await startPostgres();
    const connectionString = server.connectionString();
    const victim = {
      kill: () => server.kill(),
      start: () => server.start(),
      open: () => createPostgresJobStore({ connectionString }),
    };
    const figures = { answered: 0, repeated: 0, duplicates: 0, revisions: 0, events: 0 };
    for (let done = 0; done < KILLS; done += LIVES_PER_JOB) {
      await using load = await startKillLoad(victim, `job-${done}`, ['synced']);
      const kills = Math.min(LIVES_PER_JOB, KILLS - done);
      for (let kill = 0; kill < kills; kill += 1) await load.kill(kill);
      await load.finish(kills, figures);
    }
    expect(figures.answered).toBeGreaterThan(KILLS * 10);
    tell(
      `PostgreSQL: ${KILLS} kills, ${figures.answered} writes acknowledged, 0 lost; ${figures.repeated} repeats of answered writes and ${figures.duplicates} of others gave the first answer; ${figures.revisions} revisions, ${figures.events} events checked`,
    );
  },
  60_000 + KILLS * MS_PER_KILL,
);

declare module 'vitest' {
  interface ProvidedContext {
    readonly jobsPostgresKills: number;
  }
}
