import { createSystemClock } from '@syncline/kernel';
import { expect, test } from 'vitest';
import type { CliWorld } from '../../cli-world.js';
import { EvalProgress } from './eval-progress.js';

function progressOn(isTTY: boolean) {
  let text = '';
  let nowMs = 0;
  const write = (part: string) => {
    text += part;
  };
  const world: CliWorld = {
    stdout: { write: () => expect.unreachable() },
    stderr: { isTTY, write },
    environment: {},
    onStopEvent() {},
    onSuspend() {},
    ask: async () => undefined,
    reportStarted() {},
    makeNewFilesPrivate() {},
    exitNow() {},
  };
  const clock = { ...createSystemClock(), monotonicMs: () => nowMs };
  const progress = new EvalProgress({ world, clock });
  const step = (ms: number, part: number) => {
    nowMs += ms;
    progress.show('flash-crowd: no throttling', part);
  };
  return { progress, step, text: () => text };
}

test('on a terminal, one line is updated and finally removed', () => {
  const { progress, step, text } = progressOn(true);
  step(0, 0.05);
  step(50, 0.06);
  step(50, 0.07);
  progress.clear();
  const line = (percent: number) => `\r\u001b[2K  ${percent}%  flash-crowd: no throttling`;
  expect(text()).toBe(`${line(5)}${line(7)}\r\u001b[2K`);
});

test('elsewhere, a line is printed only occasionally', () => {
  const { progress, step, text } = progressOn(false);
  for (let second = 0; second < 40; second += 1) step(1_000, second / 40);
  progress.clear();
  expect(text()).toBe(
    ' 35%  about 27 s left  flash-crowd: no throttling\n 72%  about 11 s left  flash-crowd: no throttling\n',
  );
});
