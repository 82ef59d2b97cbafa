// Replies of RESP2 as trees, from bytes that are cut anywhere.

export interface RespReply {
  readonly type: string;
  /** Missing in a null, and in lists. */
  readonly text?: string;
  readonly items?: readonly RespReply[];
}

export class RespReplies {
  #text = '';

  /** The replies that are complete by now. */
  push(chunk: Uint8Array): readonly RespReply[] {
    this.#text += Buffer.from(chunk).toString('latin1');
    const replies: RespReply[] = [];
    let position = 0;
    for (;;) {
      const read = readReply(this.#text, position);
      if (read === undefined) break;
      replies.push(read.reply);
      position = read.end;
    }
    this.#text = this.#text.slice(position);
    return replies;
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
  if (type !== '$' && type !== '*') return { reply: { type, text: line }, end };
  if (line === '-1') return { reply: { type }, end };
  if (type === '*') return readItems(text, end, Number(line));
  const bytesEnd = end + Number(line);
  if (text.length < bytesEnd + 2) return undefined;
  return { reply: { type, text: text.slice(end, bytesEnd) }, end: bytesEnd + 2 };
}

function readItems(text: string, start: number, count: number): Read | undefined {
  const items: RespReply[] = [];
  let end = start;
  while (items.length < count) {
    const read = readReply(text, end);
    if (read === undefined) return undefined;
    items.push(read.reply);
    end = read.end;
  }
  return { reply: { type: '*', items }, end };
}

/** A short text that keeps every difference but the order of a list that has none. */
export function replyText(reply: RespReply, isOrdered: boolean): string {
  if (reply.items === undefined) return reply.type + (reply.text ?? '(null)');
  const items = reply.items.map((item) => replyText(item, isOrdered));
  return `[${(isOrdered ? items : items.sort()).join(' ')}]`;
}
