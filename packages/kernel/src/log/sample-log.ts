// Logs for tests: records whose content follows from their number, in small segments.
import type { SimPorts } from '../sim/sim-node.js';
import { SegmentLog, type SegmentLogOptions } from './segment-log.js';

export interface SampleLog {
  readonly log: SegmentLog;
  /** `number:kind:body` of each record that was replayed. */
  readonly replayed: readonly string[];
}

/** Segments of 200 bytes, no reserve, everything replayed, unless `options` say otherwise. */
export async function openSampleLog(
  { files, logger, clock }: Pick<SimPorts, 'files' | 'logger' | 'clock'>,
  options: Partial<SegmentLogOptions> = {},
): Promise<SampleLog> {
  const replayed: string[] = [];
  const log = await SegmentLog.open(
    { files, logger, clock },
    {
      directory: 'log',
      owner: bytes('node 1'),
      segmentBytesMax: 200,
      reserveBytes: 0,
      replayFrom: 1,
      mustBeWhole: false,
      onRecord: (number, kind, body) => void replayed.push(describe(number, kind, body)),
      ...options,
    },
  );
  return { log, replayed };
}

/** Appends records with bodies of 20 bytes. A segment of 200 bytes takes 6 of them. */
export function appendNumbered(log: SegmentLog, count: number): void {
  for (let n = 0; n < count; n += 1) {
    const { nextNumber } = log;
    log.append(nextNumber % 256, [bytes(bodyOf(nextNumber))]);
  }
}

/** What `appendNumbered` has written, as it is replayed. */
export function numbered(from: number, to: number): readonly string[] {
  return Array.from({ length: to - from + 1 }, (_, index) => {
    const number = from + index;
    return describe(number, number % 256, bytes(bodyOf(number)));
  });
}

export function bytes(text: string): Uint8Array {
  return new TextEncoder().encode(text);
}

function bodyOf(number: number): string {
  return String(number).padStart(20, '.');
}

function describe(number: number, kind: number, body: Uint8Array): string {
  return `${number}:${kind}:${new TextDecoder().decode(body)}`;
}

/** Every file of a log with its content in hex. */
export async function contentOf(
  { files }: Pick<SimPorts, 'files'>,
  directory = 'log',
): Promise<Readonly<Record<string, string>>> {
  const content: Record<string, string> = {};
  for (const name of await files.list(directory)) {
    const read = await files.readAt(`${directory}/${name}`, 0, 1_000_000);
    content[name] = Buffer.from(read).toString('hex');
  }
  return content;
}
