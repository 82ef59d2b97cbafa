// Text from elsewhere, made safe for a terminal: control characters are shown, not obeyed.

// biome-ignore lint/suspicious/noControlCharactersInRegex: these are what must not get through.
const CONTROL = /[\u0000-\u001f\u007f-\u009f]/g;

export function printable(text: string): string {
  return text.replace(
    CONTROL,
    (character) => `\\x${character.charCodeAt(0).toString(16).padStart(2, '0')}`,
  );
}

/** JSON escapes the lower control characters itself; those above are commands to some terminals. */
export function printableJson(value: unknown, indent = 2): string {
  return JSON.stringify(value, null, indent).replace(
    /[\u007f-\u009f]/g,
    (character) => `\\u00${character.charCodeAt(0).toString(16)}`,
  );
}
