// GET /api/sets: what this node holds, as numbers. Names of sets and members stay with Redis clients.
import type { Sets } from '@syncline/sets';
import type { HttpReply, HttpRoute } from '../../http/http-route.js';

export function setsRoutes(sets: Sets): readonly HttpRoute[] {
  return [{ method: 'GET', path: '', handle: () => showFacts(sets) }];
}

/** They leave when what they tell is stored: a version that is undone later must not be waited for elsewhere. */
async function showFacts(sets: Sets): Promise<HttpReply> {
  const body = factsOf(sets);
  await sets.settled();
  return { kind: 'json', body };
}

/** Two nodes with equal `version`, `liveDots` and `xor` hold the same sets. */
function factsOf(sets: Sets): unknown {
  const { version, liveDots, xor } = sets.digest();
  return { ...sets.status(), version: version.toString(), liveDots, xor: xor.map(hex).join('') };
}

function hex(word: number): string {
  return (word >>> 0).toString(16).padStart(8, '0');
}
