// GET /api/sets: what this node holds, as numbers. Names of sets and members stay with Redis clients.
import type { Sets } from '@syncline/sets';
import type { HttpRoute } from '../../http/http-route.js';

export function setsRoutes(sets: Sets): readonly HttpRoute[] {
  return [{ method: 'GET', path: '', handle: () => ({ kind: 'json', body: factsOf(sets) }) }];
}

/** Two nodes with equal `version`, `liveDots` and `xor` hold the same sets. */
function factsOf(sets: Sets): unknown {
  const { version, liveDots, xor } = sets.digest();
  return { ...sets.status(), version: version.toString(), liveDots, xor: xor.map(hex).join('') };
}

function hex(word: number): string {
  return (word >>> 0).toString(16).padStart(8, '0');
}
