// Conversations that were recorded from a real redis-server: `> command`, then each line of its reply after `< `. A
// command that gets no reply is marked with `~ `. Words with blanks or odd bytes are a JSON array.

export interface SentCommand {
  readonly line: string;
  readonly words: readonly string[];
  readonly isSilent: boolean;
}

/** The commands of a recorded conversation. */
export function commandsOf(conversation: string): readonly SentCommand[] {
  return conversation
    .split('\n')
    .filter((line) => /^[>~] /.test(line))
    .map((line) => ({ line, words: wordsOf(line.slice(2)), isSilent: line.startsWith('~') }));
}

/** The conversation in recorded form, from all bytes that came back. */
export function renderConversation(commands: readonly SentCommand[], output: string): string {
  const replies = splitReplies(output.replaceAll(CONNECTION_NUMBER, '$1:N'));
  const lines = commands.flatMap(({ line, isSilent }) => {
    const reply = isSilent ? '' : (replies.shift() ?? '(nothing)');
    return [
      line,
      ...reply
        .split('\r\n')
        .slice(0, -1)
        .map((part) => `< ${part}`),
    ];
  });
  return `${[...lines, ...replies].join('\n')}\n`;
}

/** HELLO shows it. */
const CONNECTION_NUMBER = /(\$2\r\nid\r\n):\d+/g;

function wordsOf(command: string): readonly string[] {
  return command.startsWith('[') ? (JSON.parse(command) as string[]) : command.split(' ');
}

function splitReplies(output: string): string[] {
  const replies: string[] = [];
  for (let start = 0; start < output.length; ) {
    const end = replyEnd(output, start);
    replies.push(output.slice(start, end));
    start = end;
  }
  return replies;
}

function replyEnd(output: string, start: number): number {
  const lineEnd = output.indexOf('\r\n', start) + 2;
  const length = Number(output.slice(start + 1, lineEnd - 2));
  switch (output.charAt(start)) {
    case '$':
    case '=':
      return length < 0 ? lineEnd : lineEnd + length + 2;
    case '*':
    case '~':
      return itemsEnd(output, lineEnd, length);
    case '%':
      return itemsEnd(output, lineEnd, length * 2);
    default:
      return lineEnd;
  }
}

function itemsEnd(output: string, start: number, items: number): number {
  let end = start;
  for (let item = 0; item < items; item += 1) end = replyEnd(output, end);
  return end;
}
