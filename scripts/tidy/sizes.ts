// The hard stops for size. They are far above what feels right (a file near 100 lines, a function
// that fits a screen), so whoever meets one has two subjects in one place.
import { isGenerated, isTest } from '../repository/file-kind.js';
import { type Rule, sourceRule } from '../repository/rule.js';
import { nodesOf } from '../repository/source-file.js';

const fileLinesMax = 400;
const fileLinesMedianMax = 150;
const functionLinesMax = 70;
const parametersMax = 4;

const functionTypes = new Set([
  'ArrowFunctionExpression',
  'FunctionDeclaration',
  'FunctionExpression',
]);

export const fileSize = sourceRule('file-size', function* ({ path, linesCount }) {
  if (isTest(path) || isGenerated(path) || linesCount <= fileLinesMax) return;
  const message = `${linesCount} lines, at most ${fileLinesMax}; split it by subject`;
  yield { line: fileLinesMax, message };
});

export const medianFileSize: Rule = {
  name: 'median-file-size',
  *find(repository) {
    const sizes = repository.sources
      .filter((file) => !isTest(file.path) && !isGenerated(file.path))
      .map((file) => file.linesCount)
      .sort((left, right) => left - right);
    const median = sizes[Math.floor(sizes.length / 2)] ?? 0;
    if (median <= fileLinesMedianMax) return;
    const message = `half of the source files have ${median} lines or more, at most ${fileLinesMedianMax}`;
    yield { path: 'packages', line: 1, message };
  },
};

export const functionSize = sourceRule('function-size', function* (file) {
  if (isTest(file.path)) return;
  for (const { node } of nodesOf(file.program)) {
    if (!functionTypes.has(node.type)) continue;
    const line = file.lineAt(node.start);
    const linesCount = file.lineAt(node.end) - line + 1;
    if (linesCount > functionLinesMax) {
      const message = `a function of ${linesCount} lines, at most ${functionLinesMax}; split it`;
      yield { line, message };
    }
    const parametersCount = 'params' in node && Array.isArray(node.params) ? node.params.length : 0;
    if (parametersCount > parametersMax) {
      const message = `${parametersCount} parameters, at most ${parametersMax}; take an object`;
      yield { line, message };
    }
  }
});
