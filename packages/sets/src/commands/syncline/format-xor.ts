// The xor of all live dots as 16 hex digits.

export function formatXor([high, low]: readonly [number, number]): string {
  return hexWord(high) + hexWord(low);
}

function hexWord(word: number): string {
  return (word >>> 0).toString(16).padStart(8, '0');
}
