// The replies of one connection within a turn, and what becomes of them when the turn is undone or cannot be synced.
//
// An error may take the place of a reply only if its command read or changed sets. Others, such as HELLO or MULTI, have
// changed the connection all the same, and their clients must learn it.
//
// S5  If the turn is undone, what read or changed sets since its first change is answered with an error.
import type { SynclineError } from '@syncline/kernel';

export class TurnReplies {
  /** Bytes of the replies that are complete, or that may leave before they are. */
  end = 0;
  /** Replies up to here were made before the first change of the turn. */
  #cleanEnd = 0;
  /** Replies that may be refused; of those, the ones up to `#cleanEnd`. */
  #refusable = 0;
  #cleanRefusable = 0;
  /** The other ones in order: how many that may be refused come before it, where it starts, where it ends. */
  #kept: number[] = [];
  /** Some bytes are only a part of a reply, whose place an error cannot take. */
  #hasPart = false;

  /** A reply is complete. `hasChanges`: the turn has changed sets by now. */
  add(start: number, end: number, isRefusable: boolean, hasChanges: boolean): void {
    if (isRefusable) this.#refusable += 1;
    else this.#kept.push(this.#refusable, start, end);
    this.end = end;
    if (!hasChanges) this.#endClean();
  }

  /** The bytes up to `end` are a part of a reply. They read nothing that can be undone. */
  addPart(end: number): void {
    this.#hasPart = true;
    this.end = end;
    this.#endClean();
  }

  clear(): void {
    this.end = 0;
    this.#cleanEnd = 0;
    this.#refusable = 0;
    this.#cleanRefusable = 0;
    if (this.#kept.length > 0) this.#kept = [];
    this.#hasPart = false;
  }

  /** The turn was undone: what leaves instead of these bytes. */
  undone(bytes: Uint8Array, error: SynclineError): Uint8Array {
    const clean = bytes.subarray(0, this.#cleanEnd);
    const rest = this.#refuse(bytes, error, this.#cleanEnd, this.#cleanRefusable);
    const left = Buffer.concat([clean, ...rest]);
    this.#kept = this.#keptUpTo(this.#cleanEnd);
    this.#refusable = this.#cleanRefusable;
    this.#kept.push(this.#refusable, this.#cleanEnd, left.length);
    return left;
  }

  /** Nobody knows what the disk has kept: what leaves instead of these bytes. Undefined: a part of a reply. */
  refused(bytes: Uint8Array, error: SynclineError): Uint8Array | undefined {
    return this.#hasPart ? undefined : Buffer.concat(this.#refuse(bytes, error, 0, 0));
  }

  #endClean(): void {
    this.#cleanEnd = this.end;
    this.#cleanRefusable = this.#refusable;
  }

  #refuse(bytes: Uint8Array, error: SynclineError, from: number, count: number): Uint8Array[] {
    const left: Uint8Array[] = [];
    let refused = count;
    for (let at = 0; at < this.#kept.length; at += 3) {
      const [before = 0, start = 0, end = 0] = this.#kept.slice(at, at + 3);
      if (start < from) continue;
      left.push(misconfReplies(error, before - refused), bytes.subarray(start, end));
      refused = before;
    }
    left.push(misconfReplies(error, this.#refusable - refused));
    return left;
  }

  #keptUpTo(end: number): number[] {
    let length = 0;
    while (length < this.#kept.length && (this.#kept[length + 1] ?? 0) < end) length += 3;
    return this.#kept.slice(0, length);
  }
}

/** Redis has this prefix for its own trouble with the disk. */
function misconfReplies(error: SynclineError, count: number): Uint8Array {
  const line = `-MISCONF ${error.message.replaceAll(/[\r\n]/g, ' ')}\r\n`;
  return Buffer.from(line.repeat(count), 'latin1');
}
