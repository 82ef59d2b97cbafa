// Completes package-lock.json with the builds for other platforms.
//
// Tools such as biome and oxlint come as one optional package per platform. A registry mirror that
// carries only some of them makes `npm install` write a lockfile without the rest, and `npm ci`
// refuses such a lockfile everywhere. The names say what each is for, so the missing entries can be written
// without a registry.

/**
 * @typedef {object} LockEntry
 * @property {string} [version]
 * @property {boolean} [dev]
 * @property {boolean} [optional]
 * @property {string[]} [os]
 * @property {string[]} [cpu]
 * @property {string[]} [libc]
 * @property {Record<string, string>} [optionalDependencies]
 */
/** @typedef {{ packages: Record<string, LockEntry> }} Lockfile */

/**
 * The entries that the lockfile lacks, by their path in it.
 *
 * @param {Lockfile} lockfile
 * @returns {Record<string, LockEntry>}
 */
export function missingPlatformBuilds({ packages }) {
  /** @type {Record<string, LockEntry>} */
  const missing = {};
  for (const [path, entry] of Object.entries(packages)) {
    for (const [name, version] of Object.entries(entry.optionalDependencies ?? {})) {
      if (placesOf(path, name).some((place) => packages[place] !== undefined)) continue;
      const { os, cpu, libc } = platformOf(name);
      // In npm's order of fields, so that its next write changes nothing.
      missing[`node_modules/${name}`] = {
        version,
        ...(cpu && { cpu }),
        ...(entry.dev === undefined ? {} : { dev: entry.dev }),
        ...(libc && { libc }),
        optional: true,
        ...(os && { os }),
      };
    }
  }
  return missing;
}

/**
 * @param {Lockfile} lockfile
 * @returns {Lockfile} With all entries, in npm's order.
 */
export function withPlatformBuilds(lockfile) {
  const packages = { ...lockfile.packages, ...missingPlatformBuilds(lockfile) };
  const sorted = Object.entries(packages).sort(([left], [right]) =>
    left.localeCompare(right, 'en'),
  );
  return { ...lockfile, packages: Object.fromEntries(sorted) };
}

/**
 * Where Node looks for `name` from the package at `path`, nearest first.
 *
 * @param {string} path
 * @param {string} name
 */
function placesOf(path, name) {
  const places = [];
  for (let at = path; at !== ''; at = at.slice(0, Math.max(0, at.lastIndexOf('/node_modules/')))) {
    places.push(`${at}/node_modules/${name}`);
  }
  return [...places, `node_modules/${name}`];
}

/**
 * `@biomejs/cli-linux-arm64-musl` is for musl on arm64 Linux.
 *
 * @param {string} name
 * @returns {Pick<LockEntry, 'os' | 'cpu' | 'libc'>}
 */
function platformOf(name) {
  if (name.endsWith('-wasm32-wasi')) return { cpu: ['wasm32'] };
  const [, os, cpu, abi] = /([a-z0-9]+)-([a-z0-9]+)(?:-(gnu|musl|msvc|[a-z]*eabi(?:hf)?))?$/.exec(
    name.replace(/.*\/(?:cli-|binding-)?/, ''),
  ) ?? [''];
  if (os === undefined || cpu === undefined) {
    throw new Error(`cannot derive the platform of ${name} from its name; add it manually`);
  }
  const libc = { gnu: 'glibc', musl: 'musl' }[abi ?? ''];
  return { os: [os], cpu: [cpu], ...(libc === undefined ? {} : { libc: [libc] }) };
}
