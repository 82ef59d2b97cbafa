// Which answers and errors are refusals of a tracker.
//
// Two trackers may guard one thing, one by tenant and one by address. A refusal by the inner one reaches the
// outer one as a 429 or an error, yet it says nothing about the protected resource. So refusals are remembered,
// by the object that carries them, for as long as that lives.

const refused = new WeakSet();

export function markOwnRejection(answer: object): void {
  refused.add(answer);
}

export function isOwnRejection(answer: object): boolean {
  return refused.has(answer);
}
