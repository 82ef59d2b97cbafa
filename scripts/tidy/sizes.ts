// The hard stop for size. A file that reaches it has two subjects in one place.
import { isGenerated, isTest } from '../repository/file-kind.js';
import { sourceRule } from '../repository/rule.js';

const fileLinesMax = 400;

export const fileSize = sourceRule('file-size', function* ({ path, linesCount }) {
  if (isTest(path) || isGenerated(path) || linesCount <= fileLinesMax) return;
  const message = `${linesCount} lines, at most ${fileLinesMax}; split it by subject`;
  yield { line: fileLinesMax, message };
});
