// Bugs that can be planted in the mesh, one at a time, to prove that the simulation finds them. None is in the
// code under test: each is an edit of the text of a module, which is loaded beside the real one.
import type { createMesh } from '@syncline/mesh';
import { loadEdited, type SourceEdit } from '../simulation/load-edited.js';

interface Bug {
  /** The expected failure. A run that failed for another reason would prove nothing. */
  readonly symptom: RegExp;
  readonly edits: readonly SourceEdit[];
}

const bug = (symptom: RegExp, ...edits: readonly SourceEdit[]): Bug => ({ symptom, edits });
const edit = (file: string, find: string, replace: string): SourceEdit => ({ file, find, replace });

const BUGS = {
  /** An operation is held when it could be delivered, and delivered when it could not. */
  'mesh-causality-inverted': bug(
    /M23: it depends on|M9: /,
    edit(
      'pending-operations',
      'if (applied(cause.actor) < cause.counter) return cause;',
      'if (applied(cause.actor) >= cause.counter) return cause;',
    ),
  ),
  /** Dependencies are ignored. */
  'mesh-no-causality': bug(
    /M23: it depends on/,
    edit('pending-operations', 'for (const cause of dependencies)', 'for (const cause of [])'),
  ),
  /** A dropped operation is acknowledged like a held one, and no pull is requested. */
  'mesh-ack-of-dropped': bug(
    /M25: |M9: not equal/,
    edit('incoming', "sender.sendNack('overflow', has + 1);", 'void has;'),
    edit('incoming', "this.#deps.handler.pullWanted(sender.nodeId, 'overflow');", ''),
    edit(
      'incoming',
      'const received = this.#pending.heldThrough(actor, applied);',
      'const received = Math.max(source.gapFrom, this.#pending.heldThrough(actor, applied));',
    ),
  ),
  /** After a delivery only one of the held operations is checked. */
  'mesh-drained-once': bug(
    /M9: /,
    edit(
      'incoming',
      'for (; left > 0 && !this.#isWaiting; left -= 1) {',
      'for (let once = 1; once > 0 && !this.#isWaiting; once -= 1) {',
    ),
  ),
  /** Counters lose what is above 32 bits. */
  'mesh-counters-of-32-bits': bug(
    /M23: |M9: |M24: |M10: /,
    edit(
      'operation-head',
      'const counter = wordAt(reader.bytes, at + 4) * wordEnd + wordAt(reader.bytes, at + 8);',
      'const counter = wordAt(reader.bytes, at + 8) || 1;',
    ),
  ),
  /** The ring frees what peers have merely received. */
  'mesh-ring-freed-by-received': bug(
    /M14: /,
    edit(
      'outgoing',
      'applied = Math.min(applied, cursor.applied);',
      'applied = Math.min(applied, cursor.received);',
    ),
  ),
  /** The ring frees what the connected peers have applied, and forgets the others. */
  'mesh-ring-freed-without-the-absent': bug(
    /M14: /,
    edit(
      'outgoing',
      'for (const { cursor } of this.#receivers) applied = Math.min(applied, cursor.applied);',
      "for (const { cursor } of this.#receivers) if (cursor.mode !== 'down') applied = Math.min(applied, cursor.applied);",
    ),
  ),
  /** What is applied in memory is acknowledged before it is committed. */
  'mesh-ack-before-commit': bug(
    /M24: /,
    edit(
      'incoming',
      'const applied = version.counterOf(actor);',
      'const applied = Math.max(version.counterOf(actor), this.#appliedCounter(actor));',
    ),
  ),
  /** Operations that were rolled back after their receipt are never requested again. */
  'mesh-undone-forgotten': bug(
    /M9: not equal/,
    edit(
      'incoming',
      'this.#nackGap(source); this.#pullIfStuck(source);',
      'this.#pullIfStuck(source);',
    ),
  ),
  /** Unacknowledged operations are not resent. */
  'mesh-no-retry': bug(
    /M9: not equal/,
    edit(
      'push-cursor',
      'this.#dueMs = nowMs + ackTimeoutMs + waitMs;',
      'this.#dueMs = Number.POSITIVE_INFINITY + ackTimeoutMs + waitMs;',
    ),
  ),
  /** A known operation is delivered again. */
  'mesh-delivered-twice': bug(
    /M23: got counter \d+/,
    edit('pending-operations', "if (operation.last <= counter) return 'duplicate';", ''),
    edit('pending-operations', "if (operation.base <= counter) return 'overlapping';", ''),
  ),
  /** A new connection starts after everything published, not after what the peer has. */
  'mesh-starts-at-the-end': bug(
    /M9: |M24: /,
    edit(
      'push-cursor',
      'this.#sent = counter; this.#received = counter; this.#applied = counter; this.#attempt = 0;',
      'this.#sent = this.#deps.ring.last; this.#received = this.#sent; this.#applied = counter; this.#attempt = 0;',
    ),
  ),
} as const satisfies Record<string, Bug>;

export type PlantedMeshBug = keyof typeof BUGS;

export const PLANTED_MESH_BUGS = Object.keys(BUGS) as readonly PlantedMeshBug[];

export function isPlantedMeshBug(name: string): name is PlantedMeshBug {
  return Object.hasOwn(BUGS, name);
}

export function symptomOf(name: PlantedMeshBug): RegExp {
  return BUGS[name].symptom;
}

const loaded = new Map<PlantedMeshBug, Promise<unknown>>();

export async function loadPlanted(name: PlantedMeshBug): Promise<typeof createMesh> {
  const { edits } = BUGS[name];
  const loading =
    loaded.get(name) ?? loadEdited({ folder: 'mesh', entry: 'open-mesh', bug: name, edits });
  loaded.set(name, loading);
  return ((await loading) as { readonly createMesh: typeof createMesh }).createMesh;
}
