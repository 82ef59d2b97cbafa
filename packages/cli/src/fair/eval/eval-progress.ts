// Shows the progress of an evaluation: on a terminal one line that is overwritten, elsewhere an occasional line.
import type { Clock } from '@syncline/kernel';
import type { CliWorld } from '../../cli-world.js';
import { formatDuration } from '../../duration.js';

/** How often the line on a terminal is updated. */
const REPAINT_MS = 100;
/** Elsewhere, lines are rare, so that they do not fill up a log. */
const PLAIN_LINE_MS = 15_000;

/** No estimate is shown before this time, because the first runs say little about the others. */
const GUESS_MS = 3_000;

const CLEAR_LINE = '\r\u001b[2K';

export class EvalProgress {
  readonly #deps: { readonly world: CliWorld; readonly clock: Clock };
  readonly #isMoving: boolean;
  readonly #startedAtMs: number;
  #nextAtMs: number;

  constructor(deps: { readonly world: CliWorld; readonly clock: Clock }) {
    this.#deps = deps;
    this.#isMoving = deps.world.stderr.isTTY === true && deps.world.environment['TERM'] !== 'dumb';
    this.#startedAtMs = deps.clock.monotonicMs();
    this.#nextAtMs = this.#isMoving ? 0 : this.#startedAtMs + PLAIN_LINE_MS;
  }

  /** `part` is the completed fraction of the whole evaluation. */
  show(what: string, part: number): void {
    const { world, clock } = this.#deps;
    const nowMs = clock.monotonicMs();
    if (nowMs < this.#nextAtMs) return;
    this.#nextAtMs = nowMs + (this.#isMoving ? REPAINT_MS : PLAIN_LINE_MS);
    const left = timeLeft(nowMs - this.#startedAtMs, part);
    const text = `${String(Math.floor(100 * part)).padStart(3)}%  ${left}${what}`;
    world.stderr.write(this.#isMoving ? `${CLEAR_LINE}${text.slice(0, 79)}` : `${text}\n`);
  }

  /** Removes the progress line before other output. */
  clear(): void {
    if (this.#isMoving) this.#deps.world.stderr.write(CLEAR_LINE);
  }
}

/** Empty if it is too early for an estimate. */
function timeLeft(elapsedMs: number, part: number): string {
  if (elapsedMs < GUESS_MS || part <= 0) return '';
  return `about ${formatDuration((elapsedMs * (1 - part)) / part)} left  `;
}
