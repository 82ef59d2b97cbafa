// Pages that read, fall behind, close and exceed their limit, in simulated time.
import { runInSimulation } from '@syncline/kernel/testing';
import { expect, test } from 'vitest';
import type { ServerSentEvent } from '../http/http-route.js';
import { serverLimits } from '../limits.js';
import { LiveHub } from './live-hub.js';
import type { LiveSample, LiveSource } from './live-view.js';

/** A state of two parts that the test changes. */
class HandSource implements LiveSource {
  readonly intervalMs = 100;
  samples: LiveSample[] = [];
  sampledCount = 0;
  value = 0;
  isStopped = false;
  startError: Error | undefined;

  async start(): Promise<void> {
    if (this.startError !== undefined) throw this.startError;
  }
  sample(): LiveSample {
    this.sampledCount += 1;
    return this.samples.shift() ?? { kind: 'unchanged' };
  }
  partsCount(): number {
    return 2;
  }
  part(index: number): string {
    return JSON.stringify({ index, value: this.value });
  }
  stop(): void {
    this.isStopped = true;
  }
}

function delta(value: number): LiveSample {
  return { kind: 'delta', json: String(value) };
}

/** The next event, decoded. */
async function next(page: AsyncIterator<ServerSentEvent>): Promise<unknown> {
  const { done, value } = await page.next();
  if (done === true) return 'over';
  const { event } = value;
  const data = JSON.parse('encoded' in value ? value.encoded : 'null') as {
    readonly body?: unknown;
    readonly deltas?: unknown;
  };
  return event === 'part' ? data.body : data.deltas;
}

test('a page gets the full state in parts, then each change once, and an event at least every second', () =>
  runInSimulation('parts', async ({ clock }) => {
    const source = new HandSource();
    const hub = new LiveHub({ clock, limitReached: () => undefined });
    const page = await hub.open('k', () => source);
    expect(await next(page)).toEqual({ index: 0, value: 0 });
    expect(await next(page)).toEqual({ index: 1, value: 0 });
    source.samples.push(delta(1));
    expect(await next(page)).toEqual([1]);
    const quietSinceMs = clock.monotonicMs();
    expect(await next(page)).toEqual([]);
    expect(clock.monotonicMs() - quietSinceMs).toBeGreaterThanOrEqual(1_000);
    source.samples.push({ kind: 'replaced' });
    source.value = 7;
    expect(await next(page)).toEqual({ index: 0, value: 7 });
    await page.return?.();
  }));

test('a slow page gets all missed changes in one event; one that missed too many gets the full state again', () =>
  runInSimulation('slow', async ({ clock }) => {
    const source = new HandSource();
    const hub = new LiveHub({ clock, limitReached: () => undefined });
    const page = await hub.open('k', () => source);
    await next(page);
    await next(page);
    source.samples = [delta(1), delta(2), delta(3)];
    await clock.sleep(450);
    expect(await next(page)).toEqual([1, 2, 3]);
    source.samples = Array.from({ length: serverLimits.liveDeltasMax.value + 1 }, (_, at) =>
      delta(at),
    );
    source.value = 9;
    await clock.sleep(source.samples.length * 100 + 50);
    expect(await next(page)).toEqual({ index: 0, value: 9 });
    await page.return?.();
  }));

test('a change between two parts follows as a delta', () =>
  runInSimulation('between', async ({ clock }) => {
    const source = new HandSource();
    const hub = new LiveHub({ clock, limitReached: () => undefined });
    const page = await hub.open('k', () => source);
    await next(page);
    source.samples = [delta(5)];
    await clock.sleep(150);
    expect(await next(page)).toEqual({ index: 1, value: 0 });
    expect(await next(page)).toEqual([5]);
    await page.return?.();
  }));

test('pages share a source, which is sampled once for all of them and stops with the last one', () =>
  runInSimulation('shared', async ({ clock }) => {
    const source = new HandSource();
    let createdCount = 0;
    const create = (): LiveSource => {
      createdCount += 1;
      return source;
    };
    const hub = new LiveHub({ clock, limitReached: () => undefined });
    const pages = await Promise.all(Array.from({ length: 50 }, () => hub.open('k', create)));
    await clock.sleep(1_050);
    expect(createdCount).toBe(1);
    expect(source.sampledCount).toBe(10);
    for (const page of pages) await page.return?.();
    expect(source.isStopped).toBe(true);
    expect(hub.pagesCount).toBe(0);
    await clock.sleep(1_000);
    expect(source.sampledCount).toBe(10);
  }));

test('pages above the limit are refused, and a page that closes makes room', () =>
  runInSimulation('crowd', async ({ clock }) => {
    const reached: string[] = [];
    const hub = new LiveHub({ clock, limitReached: (limit) => reached.push(limit) });
    const { value: pagesMax } = serverLimits.livePagesMax;
    const create = () => new HandSource();
    const pages = await Promise.all(Array.from({ length: pagesMax }, () => hub.open('k', create)));
    await expect(hub.open('k', create)).rejects.toMatchObject({ code: 'overloaded' });
    expect(reached).toEqual(['livePagesMax']);
    await pages[0]?.return?.();
    const late = await hub.open('k', create);
    for (const page of [...pages.slice(1), late]) await page.return?.();
    expect(hub.pagesCount).toBe(0);
  }));

test('if a source cannot start, its pages are refused, and the next page tries again', () =>
  runInSimulation('failing', async ({ clock }) => {
    const broken = new HandSource();
    broken.startError = new Error('no such thing');
    const hub = new LiveHub({ clock, limitReached: () => undefined });
    await expect(hub.open('k', () => broken)).rejects.toThrow('no such thing');
    expect(hub.pagesCount).toBe(0);
    const page = await hub.open('k', () => new HandSource());
    expect(await next(page)).toEqual({ index: 0, value: 0 });
    await page.return?.();
  }));

test('a source that fails later ends its pages, and closing a page twice counts once', () =>
  runInSimulation('fails', async ({ clock }) => {
    const source = new HandSource();
    source.sample = () => {
      throw new Error('gone');
    };
    const hub = new LiveHub({ clock, limitReached: () => undefined });
    const page = await hub.open('k', () => source);
    await next(page);
    await next(page);
    await expect(page.next()).rejects.toThrow('gone');
    await page.return?.();
    await page.return?.();
    expect(hub.pagesCount).toBe(0);
    expect(source.isStopped).toBe(true);
  }));
