// The progress of one state as a percentage. It is rounded down, so that 100% means complete.

export function percentText(share: number): string {
  return `${Math.floor(share * 1_000) / 10}%`;
}
