// A stream is sent exactly what the store holds for its namespace at that moment.
//
// F3   Every probability is in [0, 1].
// F11  No answer contains cells of a seed that is more than three windows old.
// F15  Streams of one tracker never see cells of another, or of the default tracker.
import type { ChangeRule, Namespace, SyncResponse } from '@syncline/fair';
import { assert, type Clock } from '@syncline/kernel';
import { type CellModel, listCells, NEGLIGIBLE_PROBABILITY } from '../cell-model.js';

const LIVE_WINDOWS = 3;

export interface StreamNamespace {
  readonly name: string;
  readonly rule: ChangeRule;
  readonly windowMs: number;
}

export interface SentValuesContext {
  readonly clock: Clock;
  readonly model: CellModel;
}

export function checkSentValues(
  { clock, model }: SentValuesContext,
  { name, rule, windowMs }: StreamNamespace,
  { seed, cells, epoch, ackedSeq, welcome }: SyncResponse,
): void {
  const isPlain = epoch === 0 && ackedSeq === 0 && welcome === undefined;
  assert(
    (name === '') === isPlain || welcome !== undefined,
    `F15: "${name}" was sent epoch ${epoch}`,
  );
  const namespace: Namespace = { name, rule, windowMs, shape: undefined };
  const nowMs = clock.monotonicMs();
  for (const cell of listCells(cells)) {
    const where = `cell ${cell.row}:${cell.column} of "${name}", seed ${seed},`;
    assert(isLive(seed, windowMs, clock), `F11: ${where} was sent too late`);
    const { probability } = cell;
    assert(probability >= 0 && probability <= 1, `F3: ${where} was sent as ${probability}`);
    const held = model.probability(namespace, seed, cell, nowMs);
    assert(
      Math.abs(probability - held) <= 2 * NEGLIGIBLE_PROBABILITY,
      `F15: ${where} was sent as ${probability}, but the store holds ${held}`,
    );
  }
}

/** Whether answers may name the seed: its windows are counted on the service's wall clock. */
export function isLive(seed: bigint, windowMs: number, clock: Clock): boolean {
  return Number(seed) >= clock.nowMs() - LIVE_WINDOWS * windowMs;
}
