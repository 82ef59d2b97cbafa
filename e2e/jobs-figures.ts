// One line of figures on standard error, where JOBS_FIGURES=1 asks for them.
export function tell(line: string): void {
  if (process.env['JOBS_FIGURES'] === '1') process.stderr.write(`${line}\n`);
}
