// One line of figures on standard error, where SETS_FIGURES=1 asks for them.
export function tell(line: string): void {
  if (process.env['SETS_FIGURES'] === '1') process.stderr.write(`${line}\n`);
}
