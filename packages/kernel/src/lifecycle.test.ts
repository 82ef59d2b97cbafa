import { describe, expect, test } from 'vitest';
import { createSystemClock, Lifecycle, type LifecyclePart, silentLogger } from './index.js';

function createParts() {
  const log: string[] = [];
  const part = (name: string, more: Partial<LifecyclePart> = {}): LifecyclePart => ({
    name,
    start: async () => void log.push(`start ${name}`),
    stop: async () => void log.push(`stop ${name}`),
    ...more,
  });
  const lifecycle = new Lifecycle({ clock: createSystemClock(), logger: silentLogger });
  return { log, part, lifecycle };
}

const fail = (message: string) => async () => {
  throw new Error(message);
};

describe('K5 lifecycle', () => {
  test('stops in the reverse order, once', async () => {
    const { log, part, lifecycle } = createParts();
    for (const name of ['a', 'b', 'c']) await lifecycle.start(part(name), 1000);
    expect(await lifecycle.stop(1000)).toEqual({ inTime: true, failures: [] });
    await lifecycle.stop(1000);
    expect(log.slice(3)).toEqual(['stop c', 'stop b', 'stop a']);
  });

  test('a part that fails to start is reported after the others were stopped', async () => {
    const { log, part, lifecycle } = createParts();
    await lifecycle.start(part('a'), 1000);
    await expect(lifecycle.start(part('b', { start: fail('no port') }), 1000)).rejects.toThrow(
      'no port',
    );
    expect(log).toEqual(['start a', 'stop a']);
    await expect(lifecycle.start(part('c'), 1000)).rejects.toMatchObject({ code: 'closed' });
  });

  test('a part that fails to stop does not keep the others running', async () => {
    const { log, part, lifecycle } = createParts();
    await lifecycle.start(part('a'), 1000);
    await lifecycle.start(part('b', { stop: fail('disk gone') }), 1000);
    const report = await lifecycle.stop(1000);
    expect(report.failures).toMatchObject([{ part: 'b', error: { message: 'disk gone' } }]);
    expect(log.at(-1)).toBe('stop a');
  });

  test('all parts share one grace period: parts that stop after its end are aborted at once', async () => {
    const { part, lifecycle } = createParts();
    const stopped: string[] = [];
    const stop = (name: string) => async (signal: AbortSignal) => {
      if (!signal.aborted)
        await new Promise((resolve) => signal.addEventListener('abort', resolve));
      stopped.push(name);
    };
    await lifecycle.start(part('a', { stop: stop('a') }), 1000);
    await lifecycle.start(part('b', { stop: stop('b') }), 1000);
    expect(await lifecycle.stop(5)).toMatchObject({ inTime: false });
    expect(stopped).toEqual(['b', 'a']);
  });

  test('a part that starts during a stop is stopped too', async () => {
    const { log, part, lifecycle } = createParts();
    let finishStart = () => {};
    const started = new Promise<void>((resolve) => {
      finishStart = resolve;
    });
    const start = () => started;
    const starting = lifecycle.start(part('late', { start }), 1000);
    await lifecycle.stop(1000);
    finishStart();
    await expect(starting).rejects.toMatchObject({ code: 'closed' });
    expect(log).toEqual(['stop late']);
  });
});
