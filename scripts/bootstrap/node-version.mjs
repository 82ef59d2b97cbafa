// Reports in one line that this Node is too old. Otherwise the first message would be a syntax error or a
// missing method deep inside a dependency.

/**
 * @param {string} running A version such as `20.19.0`.
 * @param {string} range The `engines.node` of package.json, always of the form `>=A.B.C`.
 * @returns {string | undefined} What is wrong, or nothing.
 */
export function nodeVersionProblem(running, range) {
  const wanted = range.replace('>=', '');
  if (compareVersions(running, wanted) >= 0) return undefined;
  return `Syncline needs Node ${wanted} or newer; this is Node ${running}. Install a newer Node from https://nodejs.org and run the command again.`;
}

/**
 * @param {string} left
 * @param {string} right
 */
function compareVersions(left, right) {
  const rightParts = right.split('.').map(Number);
  for (const [index, part] of left.split('.').map(Number).entries()) {
    const difference = part - (rightParts[index] ?? 0);
    if (difference !== 0) return difference;
  }
  return 0;
}
