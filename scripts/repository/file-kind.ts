// What kind of file a path names, by the path alone.

export function isTest(path: string): boolean {
  return path.endsWith('.test.ts');
}

/** Generated (`npm run proto`), so the rules do not apply. */
export function isGenerated(path: string): boolean {
  return /^packages\/[^/]+\/src\/generated\//.test(path);
}

/** A public entry of a package: named exports, no logic. */
export function isDoor(path: string): boolean {
  return /^packages\/[^/]+\/src\/(index|testing)\.ts$/.test(path);
}
