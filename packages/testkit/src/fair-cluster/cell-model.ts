// The simplest model of shared cells: what a store must hold after a sequence of changes. It shares no code with the
// stores.
//
// A restarted process begins with whatever its store kept, so a seed is read from the store when it is first used.
import type { CellDeltas, Cells, ChangeRule, Namespace } from '@syncline/fair';

export interface CellPlace {
  readonly row: number;
  readonly column: number;
}

interface ModelCell {
  readonly probability: number;
  readonly timeMs: number;
}

/** Stores leave out smaller numbers; a model that starts from a store may be off by this much. */
export const NEGLIGIBLE_PROBABILITY = 1e-6;

export class CellModel {
  readonly #seeds = new Map<string, Map<string, ModelCell>>();

  /** Initializes a seed from the store, unless it has been already. */
  begin({ name }: Namespace, seed: bigint, read: () => Cells, nowMs: number): void {
    const id = seedId(name, seed);
    if (this.#seeds.has(id)) return;
    const cells = new Map<string, ModelCell>();
    for (const { row, column, probability } of listCells(read())) {
      cells.set(cellId(row, column), { probability, timeMs: nowMs });
    }
    this.#seeds.set(id, cells);
  }

  apply(namespace: Namespace, seed: bigint, deltas: CellDeltas, nowMs: number): void {
    for (let index = 0; index < deltas.count; index += 1) {
      const row = deltas.rows[index] ?? 0;
      const column = deltas.columns[index] ?? 0;
      const before = this.probability(namespace, seed, { row, column }, nowMs);
      const sum = before + (deltas.amounts[index] ?? 0);
      const low = deltas.lows[index] ?? 0;
      const high = deltas.highs[index] ?? 1;
      const probability = Math.min(high, Math.max(low, sum));
      this.#put(namespace, seed, { row, column }, { probability, timeMs: nowMs });
    }
  }

  join(namespace: Namespace, seed: bigint, cells: Cells, nowMs: number): void {
    for (const { row, column, probability } of listCells(cells)) {
      const before = this.probability(namespace, seed, { row, column }, nowMs);
      const highest = Math.max(before, probability);
      this.#put(namespace, seed, { row, column }, { probability: highest, timeMs: nowMs });
    }
  }

  probability(
    { name, rule }: Namespace,
    seed: bigint,
    { row, column }: CellPlace,
    nowMs: number,
  ): number {
    const cell = this.#seeds.get(seedId(name, seed))?.get(cellId(row, column));
    return cell === undefined ? 0 : fade(rule, cell.probability, nowMs - cell.timeMs);
  }

  has({ name }: Namespace, seed: bigint, { row, column }: CellPlace): boolean {
    return this.#seeds.get(seedId(name, seed))?.has(cellId(row, column)) ?? false;
  }

  forget({ name }: Namespace, seed: bigint): void {
    this.#seeds.delete(seedId(name, seed));
  }

  forgetBefore({ name }: Namespace, bound: bigint): void {
    for (const id of [...this.#seeds.keys()]) {
      const [held, seed] = id.split('/');
      if (held === name && BigInt(seed ?? 0) < bound) this.#seeds.delete(id);
    }
  }

  #put({ name }: Namespace, seed: bigint, { row, column }: CellPlace, cell: ModelCell): void {
    this.#seeds.get(seedId(name, seed))?.set(cellId(row, column), cell);
  }
}

export interface ListedCell extends CellPlace {
  readonly probability: number;
}

export function listCells(cells: Cells): readonly ListedCell[] {
  return Array.from({ length: cells.count }, (_, index) => ({
    row: cells.rows[index] ?? 0,
    column: cells.columns[index] ?? 0,
    probability: cells.probabilities[index] ?? Number.NaN,
  }));
}

/** The probability after decay. */
export function fade(rule: ChangeRule, probability: number, elapsedMs: number): number {
  if (rule.policy === 'sum') return probability;
  const faded = (rule.ratePerSecond * elapsedMs) / 1000;
  if (rule.policy === 'exponential') return probability * Math.exp(-faded);
  return Math.max(0, probability - faded);
}

function seedId(name: string, seed: bigint): string {
  return `${name}/${seed}`;
}

function cellId(row: number, column: number): string {
  return `${row}:${column}`;
}
