// Time on the page: one timer updates all ages, which are relative to the server's clock.
import { createContext } from 'preact';
import { useContext, useEffect, useState } from 'preact/hooks';
import { formatAge, formatDateTime, isoTime } from './format.js';
import type { Connection } from './live.js';

const TICK_MS = 1_000;
const listeners = new Set<() => void>();
let timer: ReturnType<typeof setInterval> | undefined;

/** The time of this machine, updated every second. */
export function useNow(): number {
  const [now, setNow] = useState(() => Date.now());
  useEffect(() => {
    const update = () => setNow(Date.now());
    listeners.add(update);
    timer ??= setInterval(() => {
      for (const listener of listeners) listener();
    }, TICK_MS);
    return () => {
      listeners.delete(update);
      if (listeners.size > 0) return;
      clearInterval(timer);
      timer = undefined;
    };
  }, []);
  return now;
}

/** How far the server's clock is ahead of ours, in milliseconds. */
export const ServerClock = createContext(0);

export function clockOffset({ serverAtMs, receivedAtMs }: Connection): number {
  return receivedAtMs === 0 ? 0 : serverAtMs - receivedAtMs;
}

/** The age of a moment on the server's clock, updated as time passes. */
export function Age({ atMs }: { readonly atMs: number }) {
  const now = useNow() + useContext(ServerClock);
  return (
    <time dateTime={isoTime(atMs)} title={formatDateTime(atMs)}>
      {formatAge(Math.max(0, now - atMs))}
    </time>
  );
}
