// What kind of file a path names, by its ending alone.

export function isTest(path: string): boolean {
  return path.endsWith('.test.ts');
}

/** A public entry of a package: named exports, no logic. */
export function isDoor(path: string): boolean {
  return /^packages\/[^/]+\/src\/(index|testing)\.ts$/.test(path);
}
