// A source file opens with its role and why it is so. Entry points are lists of names and tests have titles, so
// both may omit it.
import { isDoor, isTest } from '../repository/file-kind.js';
import { sourceRule } from '../repository/rule.js';

const headLinesMax = 20;

export const headComment = sourceRule('head-comment', function* (file) {
  if (isTest(file.path) || isDoor(file.path)) return;
  const lines = file.text.replace(/^#!.*\n/, '').split('\n');
  const isBlock = lines[0]?.startsWith('/*') ?? false;
  const headLines = isBlock
    ? lines.findIndex((line) => line.includes('*/')) + 1
    : lines.findIndex((line) => !line.startsWith('//'));
  if (headLines === 0) {
    yield { line: 1, message: 'no head comment; say what the file is for, and why it is so' };
  } else if (headLines > headLinesMax) {
    const message = `a head comment of ${headLines} lines, at most ${headLinesMax}; move it to a document`;
    yield { line: 1, message };
  }
});
