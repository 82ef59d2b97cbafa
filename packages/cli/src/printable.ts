// Makes untrusted text safe for a terminal: control characters are shown, not executed. So are invisible ones
// that reverse or break a line: a row must not imitate another.

// biome-ignore lint/suspicious/noControlCharactersInRegex: these are what must not get through.
const CONTROL = /[\u0000-\u001f\u007f-\u009f]/g;

/** Not the joiner (U+200D): emoji are made with it. */
const INVISIBLE = /(?!\u200d)[\p{Cf}\p{Zl}\p{Zp}]/gu;

export function printable(text: string): string {
  const withoutControl = text.replace(
    CONTROL,
    (character) => `\\x${character.charCodeAt(0).toString(16).padStart(2, '0')}`,
  );
  return withoutControl.replace(
    INVISIBLE,
    (character) => `\\u{${character.codePointAt(0)?.toString(16)}}`,
  );
}

/** JSON escapes the lower control characters itself; the others it does not. It stays JSON, and the same value. */
export function printableJson(value: unknown, indent = 2): string {
  return JSON.stringify(value, null, indent)
    .replace(/[\u007f-\u009f]/g, escaped)
    .replace(INVISIBLE, escaped);
}

/** As JSON writes it: each UTF-16 unit by itself. */
function escaped(character: string): string {
  return Array.from(
    { length: character.length },
    (_, index) => `\\u${character.charCodeAt(index).toString(16).padStart(4, '0')}`,
  ).join('');
}
