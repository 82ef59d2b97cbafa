// The types of connections that Redis has. All of ours are normal.

const types: Readonly<Record<string, 'normal' | 'replica' | 'pubsub' | 'master'>> = {
  normal: 'normal',
  slave: 'replica',
  replica: 'replica',
  pubsub: 'pubsub',
  master: 'master',
};

/** Undefined for a type that Redis does not have. */
export function clientType(name: string): 'normal' | 'replica' | 'pubsub' | 'master' | undefined {
  const type = name.toLowerCase();
  return Object.hasOwn(types, type) ? types[type] : undefined;
}
