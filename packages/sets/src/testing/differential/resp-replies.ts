// Replies as trees that keep every difference on the wire: the type byte, and which null it was. Two replies
// are the same bytes if and only if their trees are equal.

export interface RespReply {
  /** `*`, `~`, `%`, `$`, `+`, `-`, `:`, `_` … */
  readonly type: string;
  /** The line, or the bytes of a bulk string. Absent in the nulls of RESP2. */
  readonly text?: string;
  readonly items?: readonly RespReply[];
}

const AGGREGATES: Readonly<Record<string, number>> = { '*': 1, '~': 1, '>': 1, '%': 2 };
const BULKS = '$=';

/**
 * Takes bytes split anywhere; returns replies as they become complete. No byte is read twice, except for an
 * incomplete line.
 */
export class RespReplies {
  #text = '';
  /** Lists that wait for items, the outermost first. */
  readonly #open: OpenList[] = [];

  push(chunk: Uint8Array): readonly RespReply[] {
    const text = this.#text + Buffer.from(chunk).toString('latin1');
    const replies: RespReply[] = [];
    let position = 0;
    for (let read = readToken(text, 0); read !== undefined; read = readToken(text, position)) {
      position = read.end;
      const whole = this.#place(read);
      if (whole !== undefined) replies.push(whole);
    }
    this.#text = text.slice(position);
    return replies;
  }

  /** Returns the outermost reply once it is complete. */
  #place({ reply, itemsCount }: Token): RespReply | undefined {
    if (itemsCount > 0) {
      this.#open.push({ reply, items: [], itemsCount });
      return undefined;
    }
    let complete = reply;
    for (let list = this.#open.at(-1); list !== undefined; list = this.#open.at(-1)) {
      list.items.push(complete);
      if (list.items.length < list.itemsCount) return undefined;
      this.#open.pop();
      complete = { ...list.reply, items: list.items };
    }
    return complete;
  }
}

interface OpenList {
  readonly reply: RespReply;
  readonly items: RespReply[];
  readonly itemsCount: number;
}

/** A reply without items, or the head of a list. */
interface Token {
  readonly reply: RespReply;
  readonly itemsCount: number;
  readonly end: number;
}

function readToken(text: string, start: number): Token | undefined {
  const lineEnd = text.indexOf('\r\n', start);
  if (lineEnd === -1) return undefined;
  const type = text.charAt(start);
  const line = text.slice(start + 1, lineEnd);
  const end = lineEnd + 2;
  const perItem = AGGREGATES[type];
  if (perItem === undefined && !BULKS.includes(type))
    return { reply: { type, text: line }, itemsCount: 0, end };
  if (line === '-1') return { reply: { type }, itemsCount: 0, end };
  if (perItem !== undefined)
    return { reply: { type, items: [] }, itemsCount: Number(line) * perItem, end };
  const bytesEnd = end + Number(line);
  if (text.length < bytesEnd + 2) return undefined;
  return { reply: { type, text: text.slice(end, bytesEnd) }, itemsCount: 0, end: bytesEnd + 2 };
}

export function textsOf(reply: RespReply | undefined): readonly string[] {
  return (reply?.items ?? []).map(({ text }) => text ?? '');
}
