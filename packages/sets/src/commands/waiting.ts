// A wait of a command that ends when its time is over, or when its client has gone.
import type { Clock } from '@syncline/kernel';

/** The signal fires after `timeoutMs`, 0 being never, or with `gone`. */
export async function waitWithin<Result>(
  clock: Clock,
  timeoutMs: number,
  gone: AbortSignal,
  wait: (signal: AbortSignal) => Promise<Result>,
): Promise<Result> {
  const stop = new AbortController();
  const onGone = () => stop.abort();
  if (gone.aborted) onGone();
  const timer = timeoutMs === 0 ? undefined : clock.setTimer(timeoutMs, () => stop.abort());
  gone.addEventListener('abort', onGone, { once: true });
  try {
    return await wait(stop.signal);
  } finally {
    timer?.cancel();
    gone.removeEventListener('abort', onGone);
  }
}
