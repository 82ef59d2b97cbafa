// How far an evaluation is: on a terminal one line that is written over, elsewhere a line now and then.
import type { Clock } from '@syncline/kernel';
import type { CliWorld } from '../../cli-world.js';

/** Fast enough to look alive. */
const REPAINT_MS = 100;
/** A log that collects words is not to be filled with them. */
const PLAIN_LINE_MS = 15_000;

const CLEAR_LINE = '\r\u001b[2K';

export class EvalProgress {
  readonly #deps: { readonly world: CliWorld; readonly clock: Clock };
  readonly #isMoving: boolean;
  #nextAtMs: number;

  constructor(deps: { readonly world: CliWorld; readonly clock: Clock }) {
    this.#deps = deps;
    this.#isMoving = deps.world.stderr.isTTY === true && deps.world.environment['TERM'] !== 'dumb';
    this.#nextAtMs = this.#isMoving ? 0 : deps.clock.monotonicMs() + PLAIN_LINE_MS;
  }

  /** `part` is from 0 to 1. */
  show(what: string, part: number): void {
    const { world, clock } = this.#deps;
    const nowMs = clock.monotonicMs();
    if (nowMs < this.#nextAtMs) return;
    this.#nextAtMs = nowMs + (this.#isMoving ? REPAINT_MS : PLAIN_LINE_MS);
    const text = `${String(Math.floor(100 * part)).padStart(3)} %  ${what}`;
    world.stderr.write(this.#isMoving ? `${CLEAR_LINE}${text.slice(0, 79)}` : `${text}\n`);
  }

  /** Takes the moving line away, so that what is written next stands alone. */
  clear(): void {
    if (this.#isMoving) this.#deps.world.stderr.write(CLEAR_LINE);
  }
}
