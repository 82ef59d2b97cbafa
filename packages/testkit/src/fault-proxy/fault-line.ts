// One direction of one proxied connection: takes bytes from one end and passes them to the other, with the
// configured faults.
//
// Latency is counted from a chunk's arrival, so that many chunks are in flight at once, but at most
// `faultLineBytesMax`; then reading stops. Bandwidth, slicing, black holes and resets apply as bytes leave.
import type { Clock, Connection, Random } from '@syncline/kernel';
import { testkitLimits } from '../limits.js';
import { type ProxyFaults, pieceBytes } from './faults.js';

/** A reset that arrives together with bytes looks like an end (libuv), so it follows after a pause. */
const RESET_GAP_MS = 20;

export interface FaultLineDeps {
  readonly from: Connection;
  readonly to: Connection;
  readonly clock: Clock;
  /** Separate for each line, so that its draws do not depend on other lines. */
  readonly random: Random;
  /** Fires when the connection is torn down. */
  readonly signal: AbortSignal;
  /** The faults as they are now: a new object each time they are set. */
  faults(): ProxyFaults;
  passed(bytes: number): void;
  /** The line cannot continue: one end has broken, or it is to be reset. */
  broken(): void;
}

export class FaultLine {
  readonly #deps: FaultLineDeps;
  #heldBytes = 0;
  #freeAtMs = 0;
  #isHoled = false;
  #count: { readonly faults: ProxyFaults; bytes: number } = { faults: {}, bytes: 0 };

  constructor(deps: FaultLineDeps) {
    this.#deps = deps;
  }

  /** Bytes were swallowed that the receiver would miss. */
  get isHoled(): boolean {
    return this.#isHoled;
  }

  /** Passes everything on, including the end. Never rejects. */
  async run(): Promise<void> {
    const { from, to, faults, broken } = this.#deps;
    let delivered = Promise.resolve();
    try {
      for await (const chunk of from.incoming) {
        this.#heldBytes += chunk.length;
        delivered = this.#deliver(chunk, this.#dueMs(), delivered);
        delivered.catch(broken); // immediately, since there may be no further chunk
        if (this.#heldBytes >= testkitLimits.faultLineBytesMax.value) await delivered;
      }
      await delivered;
      if (faults().blackhole) this.#isHoled = true;
      else to.end();
    } catch {
      broken();
    }
  }

  #dueMs(): number {
    const { clock, random, faults } = this.#deps;
    const { latencyMs = 0, jitterMs = 0 } = faults();
    return clock.monotonicMs() + latencyMs + jitterMs * random.float();
  }

  async #deliver(chunk: Uint8Array, dueMs: number, before: Promise<void>): Promise<void> {
    await before; // no chunk overtakes another
    await this.#sleepUntil(dueMs);
    for (let rest = chunk; rest.length > 0; ) {
      const faults = this.#deps.faults();
      if (faults.blackhole) this.#isHoled = true;
      if (this.#isHoled) break;
      const passBytes = Math.min(pieceBytes(faults), this.#bytesUntilReset(faults));
      await this.#pass(rest.subarray(0, passBytes), faults);
      rest = rest.subarray(passBytes);
    }
    this.#heldBytes -= chunk.length;
  }

  async #pass(piece: Uint8Array, faults: ProxyFaults): Promise<void> {
    const { to, clock, passed } = this.#deps;
    if (faults.bytesPerSecond !== undefined) {
      const startMs = Math.max(this.#freeAtMs, clock.monotonicMs());
      this.#freeAtMs = startMs + (piece.length / faults.bytesPerSecond) * 1_000;
      await this.#sleepUntil(this.#freeAtMs);
    }
    if (piece.length > 0 && !to.write(piece)) await to.drained();
    if (faults.sliceBytes !== undefined)
      await new Promise<void>((resolve) => void clock.defer(resolve));
    passed(piece.length);
    this.#count.bytes += piece.length;
    if (this.#bytesUntilReset(faults) > 0) return;
    await clock.sleep(RESET_GAP_MS, this.#deps.signal);
    throw new Error('reset by the proxy');
  }

  #bytesUntilReset(faults: ProxyFaults): number {
    if (this.#count.faults !== faults) this.#count = { faults, bytes: 0 };
    return (faults.resetAfterBytes ?? Number.POSITIVE_INFINITY) - this.#count.bytes;
  }

  async #sleepUntil(atMs: number): Promise<void> {
    const { clock, signal } = this.#deps;
    const leftMs = atMs - clock.monotonicMs();
    if (leftMs > 0) await clock.sleep(leftMs, signal);
  }
}
