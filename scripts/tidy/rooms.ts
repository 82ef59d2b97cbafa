// Which part of the real world a file may touch. The rooms are those of docs/ARCHITECTURE.md: the
// system implementations of the kernel, the composition root and the command line, and everything
// that only developers run. The first room that fits a path decides; elsewhere nothing is allowed.

export type WorldPart =
  | 'clock'
  | 'timer'
  | 'turn'
  | 'random'
  | 'environment'
  | 'console'
  | 'io'
  | 'globals';

interface Room {
  readonly paths: RegExp;
  readonly allows: readonly WorldPart[];
}

const everything: readonly WorldPart[] = [
  'clock',
  'timer',
  'turn',
  'random',
  'environment',
  'console',
  'io',
  'globals',
];

const rooms: readonly Room[] = [
  // A deadline needs a real clock and a seed comes from the environment, but randomness and prints do not
  // belong in a test: the first cannot be repeated and the second is never read.
  { paths: /\.int\.test\.ts$/, allows: ['clock', 'timer', 'turn', 'environment', 'io', 'globals'] },
  // Golden data is on disk; `setImmediate` lets pending promises settle without waiting; a spy is set
  // on `globalThis`.
  { paths: /\.test\.ts$/, allows: ['turn', 'io', 'globals'] },
  {
    paths: /^packages\/kernel\/src\/(.*\/)?(system|tcp|tls|level)-[^/]+\.ts$/,
    allows: ['clock', 'timer', 'turn', 'random', 'environment', 'io'],
  },
  // It passes all writes of one turn to the system together.
  { paths: /^packages\/kernel\/src\/network\/socket-connection\.ts$/, allows: ['turn', 'io'] },
  // Beside the system implementations lie the files that they share.
  { paths: /^packages\/kernel\/src\/(storage|files|network)\//, allows: ['io'] },
  // Workers are reached over a port; here it is threads.
  { paths: /^packages\/streams\/src\/workers\/worker-threads?\.ts$/, allows: ['io'] },
  // The simulator turns the real event loop once between two simulated events.
  { paths: /^packages\/kernel\/src\/sim\/microtask-drain\.ts$/, allows: ['turn'] },
  { paths: /^packages\/(server|cli|dashboard|testkit)\//, allows: everything },
  { paths: /^(bench|deploy|e2e|examples|scripts)\//, allows: everything },
  { paths: /^[^/]+$/, allows: everything },
];

export function isAllowed(path: string, part: WorldPart): boolean {
  return rooms.find((room) => room.paths.test(path))?.allows.includes(part) ?? false;
}
