// Numbers, ages and names in readable form. Names come from clients: they are data, never markup, and characters that
// would hide or reorder text are made visible.

const UNITS = ['B', 'KB', 'MB', 'GB', 'TB'] as const;

export function formatCount(value: number): string {
  return value.toLocaleString('en-US', { maximumFractionDigits: value < 10 ? 1 : 0 });
}

/** 1 stream, 2 streams, 12,400 streams. */
export function formatNumberOf(count: number, noun: string): string {
  return `${formatCount(count)} ${count === 1 ? noun : `${noun}s`}`;
}

/** Short, for places with little space: 12.4k. */
export function formatShort(value: number): string {
  if (value < 10_000) return formatCount(value);
  if (value < 1_000_000) return `${trim(value / 1_000)}k`;
  return `${trim(value / 1_000_000)}M`;
}

export function formatBytes(bytes: number): string {
  let value = bytes;
  let unit = 0;
  for (; value >= 1_000 && unit < UNITS.length - 1; unit += 1) value /= 1_000;
  return `${unit === 0 ? value : trim(value)} ${UNITS[unit]}`;
}

/** 850 ms, 4 s, 3 min, 2 h 10 min, 5 d. */
export function formatDuration(ms: number): string {
  if (ms < 0) return '0 s';
  if (ms < 1_000) return `${Math.round(ms)} ms`;
  const seconds = Math.floor(ms / 1_000);
  if (seconds < 60) return `${seconds} s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 60)
    return seconds % 60 === 0 || minutes > 9
      ? `${minutes} min`
      : `${minutes} min ${seconds % 60} s`;
  const hours = Math.floor(minutes / 60);
  if (hours < 48) return minutes % 60 === 0 ? `${hours} h` : `${hours} h ${minutes % 60} min`;
  return `${Math.floor(hours / 24)} d`;
}

export function formatAge(ms: number): string {
  return ms < 1_000 ? 'now' : `${formatDuration(Math.floor(ms / 1_000) * 1_000)} ago`;
}

/** How far a peer is behind: `0 ops`, or `1 op, 36 ms`. */
export function formatLag(operations: number, ms: number): string {
  if (operations === 0) return '0 ops';
  return `${formatShort(operations)} ${operations === 1 ? 'op' : 'ops'}, ${formatDuration(ms)}`;
}

export function formatTime(atMs: number): string {
  return new Date(atMs).toLocaleTimeString('en-GB');
}

export function formatDateTime(atMs: number): string {
  const time = isoTime(atMs);
  return time?.replace('T', ' ').replace(/\.\d+Z$/, ' UTC') ?? `${atMs} ms since 1970`;
}

/** Undefined if the time, which a client may have sent, is too far away for a date. */
export function isoTime(atMs: number): string | undefined {
  const date = new Date(atMs);
  return Number.isNaN(date.getTime()) ? undefined : date.toISOString();
}

/** Truncated, not rounded: 100 only when everything is done. */
export function formatPercent(done: number, total: number): string {
  if (total === 0) return '0%';
  return `${Math.floor((1_000 * done) / total) / 10}%`;
}

/** Counts finished cells fully and the others by their progress: 100% only when all are finished. */
export function formatProgress(finished: number, partly: number, total: number): string {
  if (finished === total) return formatPercent(finished, total);
  return formatPercent(Math.min(finished + partly, total * 0.999), total);
}

/** Shows control, invisible and reordering characters as visible marks. Joiners stay: scripts and emoji need them. */
export function visible(text: string): string {
  return text.replace(/[\p{Cc}\p{Cf}\u2028\u2029]/gu, (character) => {
    const code = character.codePointAt(0) ?? 0;
    if (code === 0x200c || code === 0x200d) return character;
    if (code < 0x20) return String.fromCharCode(0x2400 + code);
    return code === 0x7f ? '\u2421' : `⟨U+${code.toString(16).toUpperCase().padStart(4, '0')}⟩`;
  });
}

function trim(value: number): string {
  return value.toFixed(value < 100 ? 1 : 0).replace(/\.0$/, '');
}
