// Waits for a condition, with a deadline instead of a fixed delay.

export async function until(
  isTrue: () => boolean | Promise<boolean>,
  what: string,
  deadlineMs = 60_000,
): Promise<void> {
  const endMs = performance.now() + deadlineMs;
  while (!(await isTrue())) {
    if (performance.now() > endMs) throw new Error(`not within ${deadlineMs} ms: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}
