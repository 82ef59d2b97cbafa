// Who may import whom, for every package that is planned. This table is the architecture; the rules
// beside it only compare the repository with it.
//
//   kernel <- protocol <- mesh <- {fair, jobs, sets, streams} <- server <- cli
//
// riblt stands alone and only sets uses it. The four slices never import each other. testkit may
// import everything, and only tests and other developer code import testkit.

export interface PackageRole {
  /** The packages that its sources may import. */
  readonly mayImport: readonly string[];
  /** Second doors beside `.`: test suites, and what only some users should have to load. */
  readonly doors: readonly string[];
}

const ground = ['kernel', 'protocol', 'mesh'];
const slices = ['fair', 'jobs', 'sets', 'streams'];

export const packageRoles: ReadonlyMap<string, PackageRole> = new Map(
  Object.entries({
    kernel: { mayImport: [], doors: ['./testing'] },
    riblt: { mayImport: [], doors: ['./testing'] },
    protocol: {
      mayImport: ['kernel'],
      doors: ['./testing', './fair-state', './jobs', './operations'],
    },
    mesh: { mayImport: ['kernel', 'protocol'], doors: ['./testing'] },
    fair: {
      mayImport: ground,
      doors: ['./testing', './connect', './express', './fastify', './fetch', './grpc', './redis'],
    },
    jobs: { mayImport: ground, doors: ['./testing', './firestore', './grpc', './store-kit'] },
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

/** The package that a path lies in, if it lies in one. */
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
