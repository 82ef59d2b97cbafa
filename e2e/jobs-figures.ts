// Prints one line of figures on standard error if JOBS_FIGURES=1.
export function tell(line: string): void {
  if (process.env['JOBS_FIGURES'] === '1') process.stderr.write(`${line}\n`);
}
