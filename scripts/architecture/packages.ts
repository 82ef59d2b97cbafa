// Which package may import which. This table is the architecture; the rules beside it only compare the
// repository with it.
//
//   kernel <- protocol <- mesh <- {fair, jobs, sets, streams} <- server <- cli
//
// riblt is independent and used only by sets. The four slices never import each other. testkit may
// import everything, and only tests and other developer code import testkit.

export interface PackageRole {
  /** The packages that its sources may import. */
  readonly mayImport: readonly string[];
  /** Entry points besides `.`: test suites, and what only some users need to load. */
  readonly doors: readonly string[];
}

const ground = ['kernel', 'protocol', 'mesh'];
const slices = ['fair', 'jobs', 'sets', 'streams'];

export const packageRoles: ReadonlyMap<string, PackageRole> = new Map(
  Object.entries({
    kernel: { mayImport: [], doors: ['./checks', './testing', './level', './node', './wire'] },
    riblt: { mayImport: [], doors: ['./testing'] },
    protocol: {
      mayImport: ['kernel'],
      doors: ['./testing', './fair-state', './grpc', './jobs', './operations'],
    },
    mesh: { mayImport: ['kernel', 'protocol'], doors: ['./testing'] },
    fair: {
      mayImport: ground,
      doors: ['./testing', './connect', './express', './fastify', './fetch', './grpc', './redis'],
    },
    jobs: {
      mayImport: ground,
      doors: ['./testing', './firestore', './grpc', './postgres', './store-kit'],
    },
    sets: { mayImport: [...ground, 'riblt'], doors: ['./testing'] },
    streams: { mayImport: ground, doors: ['./testing', './redis', './nats'] },
    server: { mayImport: [...ground, ...slices], doors: ['./config'] },
    cli: { mayImport: [...ground, ...slices, 'server'], doors: [] },
    dashboard: { mayImport: [], doors: [] },
    testkit: {
      mayImport: [...ground, ...slices, 'riblt', 'server', 'cli'],
      doors: ['./firestore'],
    },
  }),
);

/** The package that contains a path, if any. */
export function packageOf(path: string): string | undefined {
  return /^packages\/([^/]+)\//.exec(path)?.[1];
}

/** `@syncline/fair/redis` is the door `./redis` of `fair`. */
export function parseSynclineImport(
  specifier: string,
): { readonly name: string; readonly door: string } | undefined {
  const [, name, rest] = /^@syncline\/([^/]+)(\/.*)?$/.exec(specifier) ?? [];
  return name === undefined ? undefined : { name, door: `.${rest ?? ''}` };
}
