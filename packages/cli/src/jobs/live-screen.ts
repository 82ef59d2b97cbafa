// A picture on a terminal that is drawn again and again: on the alternate screen, without a cursor and without
// flicker. What was on the screen before comes back at the end, with the last picture below it.
import type { OutputStream } from '../cli-world.js';

const ESC = '\u001b[';
const ENTER = `${ESC}?1049h${ESC}?25l`;
const LEAVE = `${ESC}?25h${ESC}?1049l`;
const HOME = `${ESC}H`;
const CLEAR_LINE = `${ESC}K`;
const CLEAR_BELOW = `${ESC}J`;
/** Between these two a terminal that can shows nothing half drawn; others ignore them. */
const BEGIN = `${ESC}?2026h`;
const END = `${ESC}?2026l`;

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

  /** Lines that fit. The same picture is not drawn twice. */
  draw(lines: readonly string[]): void {
    const text = lines.map((line) => `${line}${CLEAR_LINE}`).join('\n');
    if (!this.#isOn || text === this.#drawn) return;
    this.#drawn = text;
    this.#stream.write(`${BEGIN}${HOME}${text}${CLEAR_BELOW}${END}`);
  }

  /** May be called at any time and twice: the terminal is as it was before. */
  leave(): void {
    if (!this.#isOn) return;
    this.#isOn = false;
    this.#stream.write(LEAVE);
  }
}
