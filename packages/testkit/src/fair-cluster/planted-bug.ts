// Bugs that can be planted in the cluster, one at a time, to prove that the simulation finds them. None is in
// the code under test: each is in a store, a sink, a transport or a clock wrapped around it.

export const PLANTED_FAIR_BUGS = [
  /** A resent round is applied again. */
  'fair-applied-again',
  /** The acknowledgement of a round is sent before the values that include it. */
  'fair-early-ack',
  /** Pending outcomes are sent again after the view that contains them. */
  'fair-pending-kept',
  /** A value from the service is used as is, without what is in flight. */
  'fair-blind-overwrite',
  /** Seeds are kept for four windows. */
  'fair-late-eviction',
  /** A stream that was behind does not receive one of the cells that it missed. */
  'fair-lost-mark',
  /** Decay follows the wall clock. */
  'fair-wall-clock-decay',
] as const;

export type PlantedFairBug = (typeof PLANTED_FAIR_BUGS)[number];

export function isPlantedFairBug(name: string): name is PlantedFairBug {
  return (PLANTED_FAIR_BUGS as readonly string[]).includes(name);
}
