// The digest over live dots, computed anew from all of them: their number, and the xor of their hashes.
import { createHash } from 'node:crypto';
import { halfSipKey } from '@syncline/kernel';
import { type RibltKey, ribltHash } from '@syncline/riblt';

/** Node, epoch and counter in the text of a dot. */
const DOT = /^(\d+)\.(\d+):(\d+)$/;

/** The key of the hash, which follows from the name of the cluster. */
export function digestKeyOf(clusterId: string): RibltKey {
  const digest = createHash('sha256').update('syncline/sets/order/1').update(clusterId).digest();
  return halfSipKey(digest.subarray(8));
}

/** Number of dots and xor, as SYNCLINE.DIGEST shows them. */
export function digestText(dots: Iterable<string>, key: RibltKey): string {
  const hash = new Uint32Array(2);
  let [count, high, low] = [0, 0, 0];
  for (const dot of dots) {
    const [, node, epoch, counter] = (DOT.exec(dot) ?? []).map(Number);
    const actor = (node ?? 0) * 0x1_0000 + (epoch ?? 0);
    const words = [actor | 0, Math.floor((counter ?? 0) / 2 ** 32), (counter ?? 0) | 0];
    ribltHash(key, words, hash);
    count += 1;
    high ^= hash[0] ?? 0;
    low ^= hash[1] ?? 0;
  }
  return `${count} ${hexWord(high)}${hexWord(low)}`;
}

export function hexWord(word: number): string {
  return (word >>> 0).toString(16).padStart(8, '0');
}
