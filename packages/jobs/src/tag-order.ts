// Tags are ordered by the bytes of their UTF-8, so that every store answers alike.

/**
 * By UTF-8 bytes, without encoding: code units order as bytes do, but surrogates, which stand for what is
 * above U+FFFF, must come after the units U+E000 to U+FFFF.
 */
export function compareTags(a: string, b: string): number {
  const length = Math.min(a.length, b.length);
  for (let index = 0; index < length; index += 1) {
    const left = a.charCodeAt(index);
    const right = b.charCodeAt(index);
    if (left !== right) return weightOf(left) - weightOf(right);
  }
  return a.length - b.length;
}

function weightOf(codeUnit: number): number {
  if (codeUnit < 0xd800) return codeUnit;
  return codeUnit < 0xe000 ? codeUnit + 0x2000 : codeUnit - 0x800;
}
