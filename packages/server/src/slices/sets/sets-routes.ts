// GET /api/sets: figures about the sets of this node. Only the dashboard's views show names of sets and members.
import type { Sets, SetsStatus } from '@syncline/sets';
import { z } from 'zod';
import type { HttpReply, HttpRoute } from '../../http/http-route.js';

export interface SetsFacts extends SetsStatus {
  readonly version: string;
  readonly xor: string;
}

const factsSchema = z.object({
  health: z.enum(['loading', 'ready', 'full', 'failed']),
  reason: z.string().optional(),
  epoch: z.number(),
  sets: z.number(),
  liveDots: z.number(),
  memoryBytes: z.number(),
  logBytes: z.number(),
  checkpoint: z.object({ bytes: z.number(), takenMs: z.number(), isRunning: z.boolean() }),
  connections: z.number(),
  replication: z
    .object({
      isCaughtUp: z.boolean(),
      divergedPeers: z.array(z.number()),
      pullFailure: z.string().optional(),
      pulls: z.array(
        z.looseObject({
          peer: z.number(),
          last: z.looseObject({ outcome: z.string(), isEqual: z.boolean() }).optional(),
        }),
      ),
      peers: z.array(z.looseObject({ nodeId: z.number(), state: z.string() })),
    })
    .optional(),
  version: z.string(),
  xor: z.string(),
});

export function setsRoutes(sets: Sets): readonly HttpRoute[] {
  const doc = {
    summary:
      'The sets of this node. Nodes with equal version, liveDots and xor hold the same sets.',
    reply: factsSchema,
  };
  return [{ method: 'GET', path: '', handle: () => showFacts(sets), doc }];
}

/** Waits until everything in the response is stored: a version that might still be undone must not be reported. */
async function showFacts(sets: Sets): Promise<HttpReply> {
  const body = setsFacts(sets);
  await sets.settled();
  return { kind: 'json', body };
}

/** Two nodes with equal `version`, `liveDots` and `xor` hold the same sets. */
export function setsFacts(sets: Sets): SetsFacts {
  const { version, liveDots, xor } = sets.digest();
  return { ...sets.status(), version: version.toString(), liveDots, xor: xor.map(hex).join('') };
}

function hex(word: number): string {
  return (word >>> 0).toString(16).padStart(8, '0');
}
