// What package.json and tsconfig.json say agrees with what the sources import. npm and TypeScript
// enforce the direction of packages only as far as these files are true.
import { isTest } from '../repository/file-kind.js';
import type { Repository } from '../repository/repository.js';
import type { Rule, Violation } from '../repository/rule.js';
import { packageOf, packageRoles, parseSynclineImport } from './packages.js';

/** Packages of files that are served and not imported. */
const filePackages: ReadonlySet<string> = new Set(['@syncline/dashboard']);

type Versions = Readonly<Record<string, string>>;

interface Manifest {
  readonly version?: string;
  readonly dependencies?: Versions;
  readonly devDependencies?: Versions;
  readonly peerDependencies?: Versions;
  readonly exports?: Readonly<Record<string, unknown>>;
}

export const declaredImports: Rule = {
  name: 'declared-imports',
  *find(repository) {
    for (const name of packageNames(repository)) {
      const manifest = readManifest(repository, name);
      // Dependencies bundled into the files are not needed to use them.
      const isFiles = filePackages.has(`@syncline/${name}`);
      const declared = new Set(
        Object.keys({
          ...manifest.dependencies,
          ...manifest.peerDependencies,
          ...(isFiles ? manifest.devDependencies : {}),
        }),
      );
      const path = `packages/${name}/package.json`;
      const imported = importedModules(repository, name);
      for (const [module, place] of imported) {
        if (declared.has(module)) continue;
        yield { ...place, message: `${module} is not among the dependencies in ${path}` };
      }
      for (const module of declared) {
        if (!module.startsWith('@syncline/') || imported.has(module)) continue;
        if (filePackages.has(module)) continue;
        yield { path, line: 1, message: `${module} is a dependency that no source imports` };
      }
      yield* compareReferences(repository, name, [...imported.keys()]);
    }
  },
};

export const doorsMatch: Rule = {
  name: 'doors-match',
  *find(repository) {
    for (const name of packageNames(repository)) {
      const path = `packages/${name}/package.json`;
      const allowed = ['.', ...(packageRoles.get(name)?.doors ?? [])];
      const doors = Object.keys(readManifest(repository, name).exports ?? {});
      if (!doors.includes('.')) yield { path, line: 1, message: 'there is no public entry "."' };
      for (const door of doors.filter((known) => !allowed.includes(known))) {
        const message = `"${door}" is not an entry point of ${name} in scripts/architecture/packages.ts`;
        yield { path, line: 1, message };
      }
    }
  },
};

export const exactVersions: Rule = {
  name: 'exact-versions',
  *find(repository) {
    for (const path of repository.paths.filter((known) => known.endsWith('package.json'))) {
      const manifest = parseManifest(repository.textOf(path) ?? '');
      const versions = { ...manifest.dependencies, ...manifest.devDependencies };
      for (const [module, version] of Object.entries(versions)) {
        if (/^(npm:(@[\w-]+\/)?[\w-]+@)?\d+\.\d+\.\d+(-[\w.]+)?$/.test(version)) continue;
        yield { path, line: 1, message: `${module} ${version} is not an exact version` };
      }
    }
  },
};

/** docs/versioning.md: all packages are released together, under the version of the workspace. */
export const oneVersion: Rule = {
  name: 'one-version',
  *find(repository) {
    const { version: expected } = parseManifest(repository.textOf('package.json') ?? '{}');
    for (const path of repository.paths.filter((known) => known.endsWith('/package.json'))) {
      const { version } = parseManifest(repository.textOf(path) ?? '');
      if (version === expected) continue;
      yield { path, line: 1, message: `version ${version}; the workspace has ${expected}` };
    }
  },
};

function packageNames(repository: Repository): string[] {
  return repository.paths
    .filter((path) => /^packages\/[^/]+\/package\.json$/.test(path))
    .map((path) => packageOf(path) ?? '');
}

/** The modules that a package's own sources import, each with the first place. */
function importedModules(
  repository: Repository,
  name: string,
): Map<string, Pick<Violation, 'path' | 'line'>> {
  const found = new Map<string, Pick<Violation, 'path' | 'line'>>();
  for (const { path, imports } of repository.sources) {
    if (packageOf(path) !== name || isTest(path)) continue;
    for (const { specifier, line } of imports) {
      if (/^(\.|node:)/.test(specifier)) continue;
      const module = /^(@[^/]+\/)?[^/]+/.exec(specifier)?.[0] ?? specifier;
      if (!found.has(module)) found.set(module, { path, line });
    }
  }
  return found;
}

function* compareReferences(
  repository: Repository,
  name: string,
  imported: readonly string[],
): Iterable<Violation> {
  const path = `packages/${name}/tsconfig.json`;
  const references = [...(repository.textOf(path) ?? '').matchAll(/"\.\.\/([a-z]+)"/g)].map(
    ([, reference = '']) => reference,
  );
  const wanted = imported.flatMap((module) => parseSynclineImport(module)?.name ?? []);
  for (const missing of wanted.filter((known) => !references.includes(known))) {
    yield { path, line: 1, message: `no reference to ../${missing}, which the sources import` };
  }
  for (const surplus of references.filter((known) => !wanted.includes(known))) {
    yield { path, line: 1, message: `a reference to ../${surplus}, which no source imports` };
  }
}

function readManifest(repository: Repository, name: string): Manifest {
  return parseManifest(repository.textOf(`packages/${name}/package.json`) ?? '{}');
}

function parseManifest(text: string): Manifest {
  return JSON.parse(text) as Manifest;
}
