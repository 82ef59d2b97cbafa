// Reads testdata/resp-commands.txt: bytes that clients send, and what they mean.

export interface CommandVector {
  readonly name: string;
  readonly bytes: Uint8Array;
  readonly commands: readonly (readonly string[])[];
  /** The reply to a protocol error, or the kind of an error without a reply. */
  readonly failure: string | undefined;
  readonly isMidCommand: boolean;
}

export function readCommandVectors(file: string): readonly CommandVector[] {
  const blocks = file.split(/^= /m).slice(1);
  return blocks.map((block) => readVector(block.trimEnd().split('\n')));
}

function readVector([name = '', ...lines]: readonly string[]): CommandVector {
  const behind = (mark: string) =>
    lines.filter((line) => line.startsWith(mark)).map((line) => line.slice(mark.length));
  const texts = behind('< ').map((text) => String(JSON.parse(text)));
  return {
    name,
    bytes: Buffer.from(texts.join(''), 'latin1'),
    commands: behind('> ').map((words) => JSON.parse(words) as string[]),
    failure: [...behind('! '), ...behind('x ')][0],
    isMidCommand: lines.includes('…'),
  };
}
