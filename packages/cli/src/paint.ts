// Colors on a terminal, unless NO_COLOR is set (no-color.org).
import type { CliWorld, OutputStream } from './cli-world.js';

const CODES = {
  bold: 1,
  dim: 2,
  red: 31,
  green: 32,
  yellow: 33,
  blue: 34,
  magenta: 35,
  cyan: 36,
} as const;

export type Color = keyof typeof CODES;

/** Returns the text with color codes, or unchanged if colors are off. */
export type Paint = (color: Color, text: string) => string;

export const plainPaint: Paint = (_color, text) => text;

const colorPaint: Paint = (color, text) => `\u001b[${CODES[color]}m${text}\u001b[0m`;

export function paintFor(stream: OutputStream, environment: CliWorld['environment']): Paint {
  const { NO_COLOR: noColor = '', TERM: terminal } = environment;
  const isWanted = stream.isTTY === true && noColor === '' && terminal !== 'dumb';
  return isWanted ? colorPaint : plainPaint;
}
