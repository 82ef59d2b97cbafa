// Server-sent events read from a fetch. EventSource cannot send a token, so we read the stream ourselves.

export interface ReceivedEvent {
  readonly event: string;
  readonly data: string;
}

/** Calls back for each event, and with undefined for each comment: both show that the server is alive. */
export async function readEvents(
  body: ReadableStream<Uint8Array>,
  onEvent: (event: ReceivedEvent | undefined) => void,
): Promise<void> {
  const reader = body
    .pipeThrough(new TextDecoderStream() as TransformStream<Uint8Array, string>)
    .getReader();
  let rest = '';
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    const blocks = (rest + value).split('\n\n');
    rest = blocks.pop() ?? '';
    for (const block of blocks) onEvent(parseBlock(block));
  }
}

/** Our server sends one line per field, with a space after the colon, and plain `\n` line ends. */
function parseBlock(block: string): ReceivedEvent | undefined {
  let event = '';
  let data = '';
  for (const line of block.split('\n')) {
    if (line.startsWith('event: ')) event = line.slice('event: '.length);
    if (line.startsWith('data: ')) data = line.slice('data: '.length);
  }
  return event === '' ? undefined : { event, data };
}
