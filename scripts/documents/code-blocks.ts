// The code blocks of a Markdown document, with their info string: the text after the opening fence.

export interface CodeBlock {
  readonly info: string;
  readonly code: string;
  /** Line of the opening fence, counted from 1. */
  readonly line: number;
}

export function findCodeBlocks(markdown: string): CodeBlock[] {
  const blocks: CodeBlock[] = [];
  let open: { info: string; line: number; lines: string[] } | undefined;
  for (const [index, text] of markdown.split('\n').entries()) {
    const fence = /^```(.*)$/.exec(text);
    if (fence === null) {
      open?.lines.push(text);
    } else if (open === undefined) {
      open = { info: fence[1]?.trim() ?? '', line: index + 1, lines: [] };
    } else {
      blocks.push({ info: open.info, line: open.line, code: `${open.lines.join('\n')}\n` });
      open = undefined;
    }
  }
  return blocks;
}
