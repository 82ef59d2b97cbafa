// The sweeper in virtual time: once a minute, never twice at once, quiet about what it has said.
import { SynclineError } from '@syncline/kernel';
import { runInSimulation } from '@syncline/kernel/testing';
import { expect, test } from 'vitest';
import { type LogLine, recordingLogger } from '../../testing/test-server.js';
import { RetentionSweeper } from './retention-sweeper.js';

test('a sweep each minute, counted from the end of the last', () =>
  runInSimulation('sweeps', async ({ clock }) => {
    const startedMs: number[] = [];
    const sweep = async () => {
      startedMs.push(clock.monotonicMs());
      await clock.sleep(30_000);
      return 0;
    };
    const beginMs = clock.monotonicMs();
    const sweeper = new RetentionSweeper({ clock, logger: recordingLogger([]), sweep });
    await clock.sleep(300_000);
    await sweeper.stop();
    expect(startedMs.map((ms) => ms - beginMs)).toEqual([60_000, 150_000, 240_000]);
  }));

test('a failure is told once, and so is its end; what was deleted is told each time', () =>
  runInSimulation('failures', async ({ clock }) => {
    const log: LogLine[] = [];
    const results = [0, 'down', 'down', 2, 0];
    const sweep = async () => {
      const result = results.shift();
      if (result === 'down') throw new SynclineError('unavailable', 'out of reach');
      return Number(result);
    };
    const sweeper = new RetentionSweeper({ clock, logger: recordingLogger(log), sweep });
    await clock.sleep(310_000);
    await sweeper.stop();
    expect(log.map(({ level, msg }) => `${level}: ${msg}`)).toEqual([
      'error: 🔴 jobs past retention cannot be deleted',
      'info: jobs past retention deleted',
      'info: retention works again',
    ]);
    expect(log[0]?.fields).toMatchObject({ code: 'unavailable' });
    expect(log[1]?.fields).toMatchObject({ jobs: 2 });
  }));

test('a stop ends the sweep that is under way, and no other follows', () =>
  runInSimulation('stop', async ({ clock }) => {
    const log: LogLine[] = [];
    let sweeps = 0;
    const sweep = async (signal: AbortSignal) => {
      sweeps += 1;
      await clock.sleep(1_000_000, signal);
      return 0;
    };
    const sweeper = new RetentionSweeper({ clock, logger: recordingLogger(log), sweep });
    await clock.sleep(61_000);
    await sweeper.stop();
    await clock.sleep(300_000);
    expect({ sweeps, log }).toEqual({ sweeps: 1, log: [] });
  }));
