// Reads replies of Redis. Texts arrive as bytes, and integers as numbers; nil and anything else is undefined.

export function list(reply: unknown): readonly unknown[] {
  return Array.isArray(reply) ? reply : [];
}

export function text(reply: unknown): string | undefined {
  if (Buffer.isBuffer(reply)) return reply.toString('latin1');
  return typeof reply === 'string' || typeof reply === 'number' ? String(reply) : undefined;
}

export function texts(reply: unknown): (string | undefined)[] {
  return list(reply).map(text);
}
