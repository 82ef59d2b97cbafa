// The shape of a conformance suite: named cases that any test runner can run.
//
// A suite is a function from "how to make one" to cases. Each case makes its own subject, so that cases
// neither share state nor depend on their order. A case fails by throwing.

export interface ConformanceCase {
  readonly name: string;
  run(): Promise<void>;
}

/** One case per entry. The subject is created before it and disposed of after it, even if it fails. */
export function casesFor<Subject>(
  create: () => Promise<Subject & AsyncDisposable>,
  cases: Readonly<Record<string, (subject: Subject) => Promise<void>>>,
): readonly ConformanceCase[] {
  return Object.entries(cases).map(([name, check]) => ({
    name,
    async run() {
      await using subject = await create();
      await check(subject);
    },
  }));
}
