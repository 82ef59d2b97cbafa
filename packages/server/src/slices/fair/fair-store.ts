// Opens the configured store.
import { createEmbeddedFairStore, createMemoryFairStore, type FairStore } from '@syncline/fair';
import type { ServerConfig } from '../../config/server-config.js';
import type { SliceDeps } from '../../slice.js';

export type FairStoreKind = ServerConfig['fair']['store'];

/** With `--memory`, the embedded store is replaced by the memory store. */
export function fairStoreKind({ fair: { store }, memory }: ServerConfig): FairStoreKind {
  return store === 'embedded' && memory ? 'memory' : store;
}

export async function openFairStore(deps: SliceDeps): Promise<FairStore> {
  const kind = fairStoreKind(deps.config);
  switch (kind) {
    case 'memory':
      return createMemoryFairStore(deps);
    case 'embedded': {
      const { defaultSeedUnit } = deps.config.fair;
      const storage = await deps.openStorage();
      return await createEmbeddedFairStore({ ...deps, storage }, { defaultSeedUnit });
    }
    case 'redis':
      return await openRedisStore(deps);
    default:
      return kind satisfies never;
  }
}

/** Loaded on demand: few servers need the Redis client. */
async function openRedisStore(deps: SliceDeps): Promise<FairStore> {
  const [{ createRedisFairStore }, { Redis }] = await Promise.all([
    import('@syncline/fair/redis'),
    import('ioredis'),
  ]);
  const { url = '', tls } = deps.config.fair.redis;
  const password = deps.config.credentials.fairRedisPassword?.reveal();
  const access = {
    ...(password === undefined ? {} : { password }),
    ...(tls ? { tls: {} } : {}),
  };
  return createRedisFairStore(
    { client: (settings) => new Redis(url, { ...access, ...settings }) },
    deps,
  );
}
