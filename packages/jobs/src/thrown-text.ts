// The text of whatever was thrown. Anything can be: what has no text of its own, or fails to give it, is named
// by its kind.

export function thrownText(thrown: unknown): string {
  try {
    if (typeof thrown !== 'object' || thrown === null) return String(thrown);
    const { message, name } = thrown as { readonly message?: unknown; readonly name?: unknown };
    if (typeof message === 'string' && message !== '') return message;
    if (thrown instanceof Error) return String(name);
    return JSON.stringify(thrown);
  } catch {
    return `a thrown ${typeof thrown} without text`;
  }
}
