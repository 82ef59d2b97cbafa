// The line that `syncline serve` prints when a listener accepts:
// {"listener":"http","host":"127.0.0.1","port":7400}
import type { Address } from '@syncline/kernel';

export const LISTENER_NAMES = ['http', 'grpc', 'resp', 'mesh'] as const;
export type ListenerName = (typeof LISTENER_NAMES)[number];

export interface ListenerLine {
  readonly listener: ListenerName;
  readonly address: Address;
}

/** Undefined for any other line; a log line may contain the same fields and more. */
export function parseListenerLine(line: string): ListenerLine | undefined {
  if (!line.startsWith('{')) return undefined;
  let value: Readonly<Record<string, unknown>>;
  try {
    value = JSON.parse(line) as Readonly<Record<string, unknown>>; // it looks like the start of an object
  } catch {
    return undefined;
  }
  const { listener, host, port, ...others } = value;
  if (Object.keys(others).length > 0) return undefined;
  const name = LISTENER_NAMES.find((known) => known === listener);
  if (!name || typeof host !== 'string' || typeof port !== 'number') return undefined;
  return { listener: name, address: { host, port } };
}
