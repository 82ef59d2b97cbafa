// Bugs in what the service writes: an acknowledgement before its values, and a cell that is never sent to a stream
// that had fallen behind.
import type { Cells, StreamSink, SyncResponse } from '@syncline/fair';
import { decodeSyncResponse, encodeSyncResponse } from '@syncline/fair/testing';
import type { PlantedFairBug } from '../planted-bug.js';

export function plantInSink(sink: StreamSink, bug: PlantedFairBug | undefined): StreamSink {
  if (bug === 'fair-early-ack') return new EarlyAckSink(sink);
  return bug === 'fair-lost-mark' ? new LostMarkSink(sink) : sink;
}

class EarlyAckSink implements StreamSink {
  readonly #sink: StreamSink;

  constructor(sink: StreamSink) {
    this.#sink = sink;
  }

  write(message: Uint8Array): boolean {
    const response = decodeSyncResponse(message);
    const { ackedSeq, cells } = response;
    if (ackedSeq === 0 || cells.count === 0) return this.#sink.write(message);
    const alone = { ...response, seed: 0n, cells: without(cells, cells.count) };
    this.#sink.write(encodeSyncResponse({ ...alone, isSnapshot: false, snapshotEnd: false }));
    return this.#sink.write(encodeSyncResponse({ ...response, ackedSeq: 0 }));
  }

  end(...[error]: Parameters<StreamSink['end']>): void {
    this.#sink.end(error);
  }
}

class LostMarkSink implements StreamSink {
  readonly #sink: StreamSink;
  #wasFull = false;

  constructor(sink: StreamSink) {
    this.#sink = sink;
  }

  write(message: Uint8Array): boolean {
    const response = decodeSyncResponse(message);
    const isLossy = this.#wasFull && !response.isSnapshot && response.cells.count > 0;
    const written: SyncResponse = isLossy
      ? { ...response, cells: without(response.cells, 1) }
      : response;
    const hasRoom = this.#sink.write(encodeSyncResponse(written));
    this.#wasFull = !hasRoom;
    return hasRoom;
  }

  end(...[error]: Parameters<StreamSink['end']>): void {
    this.#sink.end(error);
  }
}

/** The cells after the first `dropped`. */
function without(cells: Cells, dropped: number): Cells {
  return {
    count: cells.count - dropped,
    rows: cells.rows.subarray(dropped),
    columns: cells.columns.subarray(dropped),
    probabilities: cells.probabilities.subarray(dropped),
    timesMs: cells.timesMs.subarray(dropped),
  };
}
