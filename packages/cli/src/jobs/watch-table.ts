// The table of `jobs watch` on a terminal, drawn at most ten times a second at the current window size.
import type { Clock, Timer } from '@syncline/kernel';
import type { CliWorld, OutputStream } from '../cli-world.js';
import { cliLimits } from '../limits.js';
import { paintFor } from '../paint.js';
import { screenOf } from '../screen.js';
import type { Ending, JobWatch } from './job-watch.js';
import { type Connection, renderWatch } from './watch-view.js';

export interface WatchTableDeps {
  readonly world: CliWorld;
  readonly clock: Clock;
  readonly watched: JobWatch;
}

const ENDED: Readonly<Record<Ending | 'left', Connection>> = {
  finished: { kind: 'ended', color: 'green', text: '✔ finished' },
  settled: { kind: 'ended', color: 'red', text: '✖ ended unfinished' },
  marked: { kind: 'ended', color: 'yellow', text: '✖ marked as deleted' },
  deleted: { kind: 'ended', color: 'red', text: '✖ deleted' },
  left: { kind: 'ended', color: 'dim', text: '■ stopped' },
};

export class WatchTable {
  readonly isUnread = false;
  readonly #deps: WatchTableDeps;
  readonly #screen: LiveScreen;
  #timer: Timer | undefined;
  #hasEnded = false;

  constructor(deps: WatchTableDeps) {
    this.#deps = deps;
    this.#screen = new LiveScreen(deps.world.stdout);
    deps.world.onSuspend(
      () => this.#screen.leave(),
      () => this.#screen.enter(),
    );
  }

  /** `watched` already has the event. The first call opens the table; until then errors are plain text. */
  show(): void {
    if (this.#timer !== undefined || this.#hasEnded) return;
    this.#screen.enter();
    this.#draw();
  }

  /** Restores the screen and prints the last picture below its previous content. */
  end(ending: Ending | 'left' = 'left'): void {
    const wasOpen = this.#timer !== undefined;
    this.#timer?.cancel();
    this.#timer = undefined;
    this.#hasEnded = true;
    if (!wasOpen) return;
    this.#screen.leave();
    const { columns } = screenOf(this.#deps.world.stdout);
    const lines = this.#render(columns, Number.POSITIVE_INFINITY, { connection: ENDED[ending] });
    this.#deps.world.stdout.write(`${lines.join('\n')}\n`);
  }

  /** Driven by a timer, not by events: ages grow without events, and a thousand events need one redraw. */
  #draw(): void {
    const { columns, rows } = screenOf(this.#deps.world.stdout);
    this.#screen.draw(this.#render(columns, rows, { hint: 'Ctrl-C to quit' }));
    const { value: intervalMs } = cliLimits.redrawIntervalMs;
    this.#timer = this.#deps.clock.setTimer(intervalMs, () => this.#draw());
  }

  #render(
    columns: number,
    rows: number,
    more: { readonly hint?: string; readonly connection?: Connection },
  ): readonly string[] {
    const { world, watched } = this.#deps;
    const paint = paintFor(world.stdout, world.environment);
    return renderWatch({ ...watched.picture(), ...more }, { paint, screen: { columns, rows } });
  }
}

const ESC = '\u001b[';
const ENTER = `${ESC}?1049h${ESC}?25l`;
const LEAVE = `${ESC}?25h${ESC}?1049l`;
const HOME = `${ESC}H`;
const CLEAR_LINE = `${ESC}K`;
const CLEAR_BELOW = `${ESC}J`;
/** Synchronized output: terminals that support it show the whole frame at once; others ignore it. */
const BEGIN = `${ESC}?2026h`;
const END = `${ESC}?2026l`;

/**
 * Redraws a picture on the terminal's alternate screen, without cursor or flicker. At the end the previous content is
 * restored, with the last picture below it.
 */
export class LiveScreen {
  readonly #stream: OutputStream;
  #isOn = false;
  #drawn = '';

  constructor(stream: OutputStream) {
    this.#stream = stream;
  }

  enter(): void {
    if (this.#isOn) return;
    this.#isOn = true;
    this.#drawn = '';
    this.#stream.write(ENTER);
  }

  /** The lines must fit. An unchanged picture is not redrawn. */
  draw(lines: readonly string[]): void {
    const text = lines.map((line) => `${line}${CLEAR_LINE}`).join('\n');
    if (!this.#isOn || text === this.#drawn) return;
    this.#drawn = text;
    this.#stream.write(`${BEGIN}${HOME}${text}${CLEAR_BELOW}${END}`);
  }

  /** Restores the terminal. May be called at any time, and twice. */
  leave(): void {
    if (!this.#isOn) return;
    this.#isOn = false;
    this.#stream.write(LEAVE);
  }
}
