// Two hooks that code under simulation may call. In production they cost one call and do nothing.

export interface Chaos {
  /** True in some simulated runs: take the rare branch (a short read, a full buffer, a slow path). */
  buggify(name: string): boolean;
  /** Reports that a rare path was reached. A simulation fails when a probe it expects was never hit. */
  probe(name: string): void;
}

export const noChaos: Chaos = { buggify: () => false, probe() {} };
