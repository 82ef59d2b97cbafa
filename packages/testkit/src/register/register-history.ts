// What clients did and were told, for the checkers.

export interface Addition {
  readonly client: string;
  readonly request: number;
  readonly amount: number;
}

export interface Reading {
  readonly client: string;
  /** The client's last request that was acknowledged before it read. */
  readonly acknowledgedRequest: number;
  /** The client's last request that the node knew of. */
  readonly request: number;
  readonly total: number;
}

export class RegisterHistory {
  readonly #attempts: Addition[] = [];
  readonly #acknowledgements: Addition[] = [];
  readonly #readings: Reading[] = [];

  attempted(addition: Addition): void {
    this.#attempts.push(addition);
  }

  acknowledged(addition: Addition): void {
    this.#acknowledgements.push(addition);
  }

  read(reading: Reading): void {
    this.#readings.push(reading);
  }

  get attempts(): readonly Addition[] {
    return this.#attempts;
  }

  get acknowledgements(): readonly Addition[] {
    return this.#acknowledgements;
  }

  get readings(): readonly Reading[] {
    return this.#readings;
  }
}
