// Makes untrusted text safe for a terminal by escaping control characters, and invisible characters that could
// reverse or break a line and so disguise the text.

// biome-ignore lint/suspicious/noControlCharactersInRegex: these are the characters to escape.
const CONTROL = /[\u0000-\u001f\u007f-\u009f]/g;

/** Except the zero-width joiner (U+200D), which emoji need. */
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

/** `JSON.stringify` escapes only control characters below U+0020; this escapes the others, too. */
export function printableJson(value: unknown, indent = 2): string {
  return JSON.stringify(value, null, indent)
    .replace(/[\u007f-\u009f]/g, escaped)
    .replace(INVISIBLE, escaped);
}

/** As in JSON, each UTF-16 code unit is escaped separately. */
function escaped(character: string): string {
  return Array.from(
    { length: character.length },
    (_, index) => `\\u${character.charCodeAt(index).toString(16).padStart(4, '0')}`,
  ).join('');
}
