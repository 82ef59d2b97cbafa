// Text and numbers inside SVG and HTML.

const ENTITIES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
};

export function escapeText(text: string): string {
  return text.replace(/[&<>"]/g, (character) => ENTITIES[character] ?? character);
}

/** Rounded to a tenth of a pixel, which keeps the file small. */
export function coordinate(value: number): string {
  return String(Math.round(value * 10) / 10);
}
