import { expect, test } from 'vitest';
import { LiveScreen } from './watch-table.js';

function setup() {
  const written: string[] = [];
  const screen = new LiveScreen({ write: (text) => written.push(text) });
  return { written, screen };
}

test('the cursor and the previous content are restored once', () => {
  const { written, screen } = setup();
  screen.enter();
  screen.draw(['a', 'b']);
  screen.leave();
  screen.leave();
  screen.draw(['late']);
  expect(written).toEqual([
    '\u001b[?1049h\u001b[?25l',
    '\u001b[?2026h\u001b[Ha\u001b[K\nb\u001b[K\u001b[J\u001b[?2026l',
    '\u001b[?25h\u001b[?1049l',
  ]);
});

test('an unchanged picture is not redrawn, except after a suspend', () => {
  const { written, screen } = setup();
  screen.enter();
  screen.draw(['a']);
  screen.draw(['a']);
  expect(written).toHaveLength(2);
  screen.leave();
  screen.enter();
  screen.draw(['a']);
  expect(written.at(-1)).toContain('a\u001b[K');
});
