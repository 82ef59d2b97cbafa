// Replies as trees that keep every difference on the wire: the type byte, and which null it was. Two replies
// are the same bytes if and only if their trees are equal.

export interface RespReply {
  /** `*`, `~`, `%`, `$`, `+`, `-`, `:`, `_` … */
  readonly type: string;
  /** The line, or the bytes of a bulk string. Missing in the nulls of RESP2. */
  readonly text?: string;
  readonly items?: readonly RespReply[];
}

const AGGREGATES: Readonly<Record<string, number>> = { '*': 1, '~': 1, '>': 1, '%': 2 };
const BULKS = '$=';

/** Takes bytes cut anywhere; gives replies as they are complete. */
export class RespReplies {
  #text = '';

  push(chunk: Uint8Array): readonly RespReply[] {
    this.#text += Buffer.from(chunk).toString('latin1');
    const replies: RespReply[] = [];
    for (;;) {
      const read = readReply(this.#text, 0);
      if (read === undefined) return replies;
      replies.push(read.reply);
      this.#text = this.#text.slice(read.end);
    }
  }
}

interface Read {
  readonly reply: RespReply;
  readonly end: number;
}

function readReply(text: string, start: number): Read | undefined {
  const lineEnd = text.indexOf('\r\n', start);
  if (lineEnd === -1) return undefined;
  const type = text.charAt(start);
  const line = text.slice(start + 1, lineEnd);
  const end = lineEnd + 2;
  const perItem = AGGREGATES[type];
  if (line === '-1' && (perItem !== undefined || BULKS.includes(type)))
    return { reply: { type }, end };
  if (perItem !== undefined) return readItems({ type, count: Number(line) * perItem }, text, end);
  if (!BULKS.includes(type)) return { reply: { type, text: line }, end };
  const bytesEnd = end + Number(line);
  if (text.length < bytesEnd + 2) return undefined;
  return { reply: { type, text: text.slice(end, bytesEnd) }, end: bytesEnd + 2 };
}

function readItems(
  { type, count }: { readonly type: string; readonly count: number },
  text: string,
  start: number,
): Read | undefined {
  const items: RespReply[] = [];
  let end = start;
  while (items.length < count) {
    const item = readReply(text, end);
    if (item === undefined) return undefined;
    items.push(item.reply);
    end = item.end;
  }
  return { reply: { type, items }, end };
}

export function textsOf(reply: RespReply | undefined): readonly string[] {
  return (reply?.items ?? []).map(({ text }) => text ?? '');
}
