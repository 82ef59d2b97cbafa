// The plainest possible store: one map, one cell after another. Real stores are compared with it, so it must
// stay too simple to be wrong.
import { decayed } from '../decay.js';
import type { ChangeRule, Namespace } from '../state/fair-store.js';
import type { Cell, Delta } from './store-samples.js';

/** A named tracker does not return cells below this. */
const VISIBLE_MIN = 1e-6;

interface PlainCell {
  probability: number;
  changedMs: number;
  timeMs: number;
}

interface PlainSeed {
  readonly cells: Map<string, PlainCell>;
  readonly seqs: Map<string, number>;
}

export class PlainStore {
  readonly #seeds = new Map<string, PlainSeed>();
  #nowMs = 0;

  advanceMs(elapsedMs: number): void {
    this.#nowMs += elapsedMs;
  }

  /** The touched cells, or undefined for a duplicate. */
  applyDelta(
    namespace: Namespace,
    seed: bigint,
    deltas: readonly Delta[],
    id?: { readonly clientId: string; readonly seq: number },
  ): Cell[] | undefined {
    const { seqs } = this.#seed(namespace, seed);
    if (id !== undefined) {
      if (id.seq <= (seqs.get(id.clientId) ?? 0)) return undefined;
      seqs.set(id.clientId, id.seq);
    }
    for (const delta of deltas) {
      const cell = this.#cell(namespace, seed, delta);
      const now = this.#now(namespace.rule, cell);
      cell.probability = Math.min(delta.high ?? 1, Math.max(delta.low ?? 0, now + delta.amount));
      cell.changedMs = this.#nowMs;
      cell.timeMs = Math.max(cell.timeMs, delta.timeMs ?? 0);
    }
    return this.#list(namespace, seed, new Set(deltas.map(nameOf)));
  }

  joinView(namespace: Namespace, seed: bigint, view: readonly Omit<Cell, 'timeMs'>[]): void {
    for (const { row, column, probability } of view) {
      const cell = this.#cell(namespace, seed, { row, column });
      cell.probability = Math.max(this.#now(namespace.rule, cell), probability);
      cell.changedMs = this.#nowMs;
    }
  }

  getSeed(namespace: Namespace, seed: bigint): Cell[] {
    const cells = this.#list(namespace, seed);
    if (namespace.rule.policy === 'sum') return cells;
    return cells.filter(({ probability }) => probability >= VISIBLE_MIN);
  }

  forget(namespace: Namespace, seed: bigint): void {
    this.#seeds.delete(`${namespace.name}/${seed}`);
  }

  #seed(namespace: Namespace, seed: bigint): PlainSeed {
    const name = `${namespace.name}/${seed}`;
    const found = this.#seeds.get(name) ?? { cells: new Map(), seqs: new Map() };
    this.#seeds.set(name, found);
    return found;
  }

  #cell(namespace: Namespace, seed: bigint, place: Pick<Cell, 'row' | 'column'>): PlainCell {
    const { cells } = this.#seed(namespace, seed);
    const cell = cells.get(nameOf(place)) ?? { probability: 0, changedMs: 0, timeMs: 0 };
    cells.set(nameOf(place), cell);
    return cell;
  }

  #now(rule: ChangeRule, { probability, changedMs }: PlainCell): number {
    return rule.policy === 'sum'
      ? probability
      : decayed(rule, probability, this.#nowMs - changedMs);
  }

  #list(namespace: Namespace, seed: bigint, only?: ReadonlySet<string>): Cell[] {
    const cells = [...this.#seed(namespace, seed).cells]
      .filter(([name]) => only?.has(name) ?? true)
      .map(([name, cell]) => {
        const [row = 0, column = 0] = name.split('/').map(Number);
        return {
          row,
          column,
          probability: this.#now(namespace.rule, cell),
          timeMs: cell.timeMs,
        };
      });
    return cells.sort((left, right) => left.row - right.row || left.column - right.column);
  }
}

function nameOf({ row, column }: Pick<Cell, 'row' | 'column'>): string {
  return `${row}/${column}`;
}
