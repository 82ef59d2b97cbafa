// Bugs that the register can be given, one at a time, to prove that the simulator finds them.

export const PLANTED_BUGS = [
  /** A client is answered when its addition is with the operating system, not on the disk. */
  'acknowledge-before-sync',
  /** A node that reconnects goes on after what it had sent, not after what the other side has. */
  'lost-update-on-reconnect',
  /** A repeated request or update is applied again. */
  'duplicate-apply',
] as const;

export type PlantedBug = (typeof PLANTED_BUGS)[number];

export function isPlantedBug(name: string): name is PlantedBug {
  return (PLANTED_BUGS as readonly string[]).includes(name);
}
