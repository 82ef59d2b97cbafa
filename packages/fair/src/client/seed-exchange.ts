// The exchange with a server that only knows the original contract: no hello, no sequence numbers, no
// acknowledgements, and its values are used as is. So outcomes are forgotten once sent: resent, they could
// count twice.
//
// The original contract has no bounds, so a fold cannot be sent. Instead we send by how much the fold changes the
// last value from the server. With an up-to-date value that is exact, unlike a plain sum: a thousand successes
// of a cell at 0 and then one failure would add up to nothing. A concurrent change by another instance can make
// it wrong, by no more than that change.
import { createCellDeltas } from '../cells.js';
import { fairLimits } from '../limits.js';
import type { SyncResponse } from '../wire/sync-messages.js';
import { type Exchange, type ExchangeEvent, eachCell, type SendRequest } from './exchange.js';
import type { ExchangeDeps } from './named-exchange.js';
import { type SharedStructure, structureOf, structuresOf } from './shared-view.js';

const ELEMENTS_MAX = fairLimits.elementsPerMessageMax.value;

export class SeedExchange implements Exchange {
  readonly epoch = 0;
  readonly activeInstances = 1;
  readonly #deps: ExchangeDeps;
  readonly #deltas: ReturnType<typeof createCellDeltas>;
  #asked = new Set<number>();

  constructor(deps: ExchangeDeps) {
    const { levels, columns } = deps.view;
    this.#deps = deps;
    this.#deltas = createCellDeltas(Math.min(ELEMENTS_MAX, levels * columns));
    this.#deltas.highs.fill(1); // absent on the wire, like lows of 0
  }

  begin(send: SendRequest): readonly ExchangeEvent[] {
    // The server may have restarted, and our last messages may not have arrived. It answers with the cells that
    // it has, so all others are 0.
    for (const { pending } of structuresOf(this.#deps.view)) pending.forgetServerValues();
    this.#asked = new Set();
    this.fetchNew(send);
    return [{ kind: 'welcomed', welcome: undefined }];
  }

  receive({ seed, cells }: SyncResponse): readonly ExchangeEvent[] {
    const { view } = this.#deps;
    const nowMs = view.rotate();
    const structure = structureOf(view, Number(seed));
    if (structure === undefined) return [];
    eachCell(view, cells, (cell, probability) => {
      structure.pending.recordServerValue(cell, probability, nowMs);
      structure.overwrite(cell, probability, nowMs);
    });
    return [{ kind: 'snapshot' }, { kind: 'synced' }];
  }

  fetchNew(send: SendRequest): void {
    const seeds = structuresOf(this.#deps.view).map((structure) => structure.seed);
    for (const seed of seeds) {
      if (!this.#asked.has(seed)) send({ kind: 'state-request', seed: BigInt(seed) });
    }
    this.#asked = new Set(seeds);
  }

  flush(send: SendRequest): void {
    for (const structure of structuresOf(this.#deps.view)) this.#flushStructure(structure, send);
  }

  /** Nothing is in flight here. */
  rejectRound(): void {}

  dropAll(): number {
    const { main, secondary } = this.#deps.view;
    return main.pending.dropAll() + secondary.pending.dropAll();
  }

  #flushStructure({ seed, pending }: SharedStructure, send: SendRequest): void {
    const { view, clock } = this.#deps;
    const deltas = this.#deltas;
    const { unsent } = pending;
    const nowMs = clock.monotonicMs();
    const sendChunk = () => {
      deltas.timesMs.fill(clock.nowMs(), 0, deltas.count);
      if (deltas.count > 0) {
        send({ kind: 'delta-update', seed: BigInt(seed), deltas, seq: 0, epoch: 0 });
      }
      deltas.count = 0;
    };
    for (let index = 0; index < unsent.count; index += 1) {
      const cell = unsent.cells[index] ?? 0;
      const known = pending.serverProbability(cell);
      const next = unsent.applied(cell, known);
      const amount = next - known;
      if (amount === 0) continue;
      pending.recordServerValue(cell, next, nowMs); // the expected next value of the server, for what we send before it arrives
      deltas.rows[deltas.count] = Math.floor(cell / view.columns);
      deltas.columns[deltas.count] = cell % view.columns;
      deltas.amounts[deltas.count] = amount;
      deltas.count += 1;
      if (deltas.count === deltas.amounts.length) sendChunk();
    }
    sendChunk();
    unsent.clear();
  }
}
