// Bugs that the cluster can be given, one at a time, to prove that the simulation finds them. None is in the
// code under test: each sits in a store, a sink, a transport or a clock that is put around it.

export const PLANTED_FAIR_BUGS = [
  /** A round that is sent again is applied again. */
  'fair-applied-again',
  /** The acknowledgement of a round leaves before the values that include it. */
  'fair-early-ack',
  /** What was pending is sent once more, behind the view that contains it. */
  'fair-pending-kept',
  /** A value of the service is taken as it is, without what is in flight. */
  'fair-blind-overwrite',
  /** Seeds live for four windows. */
  'fair-late-eviction',
  /** A stream that was behind is not told of one of the cells that it missed. */
  'fair-lost-mark',
  /** Decay goes by the wall clock. */
  'fair-wall-clock-decay',
] as const;

export type PlantedFairBug = (typeof PLANTED_FAIR_BUGS)[number];

export function isPlantedFairBug(name: string): name is PlantedFairBug {
  return (PLANTED_FAIR_BUGS as readonly string[]).includes(name);
}
