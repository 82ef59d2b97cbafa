// The flow key of a peer that is known by its address alone.
//
// A subscriber with IPv6 has a whole network of addresses, at least a /64 and often a /56, and could take
// a new one for each request. So an IPv6 address counts by its first 56 bits. A dual-stack socket shows IPv4
// peers as IPv6 (`::ffff:192.0.2.1`); cut to 56 bits they would all be one flow, so they become IPv4 again.
//
// Plain text processing, because `node:net` would load sockets. Anything that is not an address stays
// unchanged.

const GROUPS = 8;
const GROUP_BITS = 16;
const PREFIX_BITS = 56;
const MAPPED_GROUP = 5;
const GROUP_MAX = 0xffff;

/** A key for `tracker.register`. Without an address there is none, and the request is not tracked. */
export function addressKey(address: string | undefined): string | undefined {
  if (typeof address !== 'string') return undefined;
  if (!address.includes(':')) return address;
  const groups = parseIpv6(address);
  if (groups === undefined) return address;
  return isMapped(groups) ? ipv4Of(groups) : networkOf(groups);
}

/** Eight numbers, or undefined if it is not an IPv6 address. */
function parseIpv6(address: string): readonly number[] | undefined {
  const [bare = ''] = address.split('%'); // the zone names an interface of this machine
  const halves = withHexTail(bare).split('::');
  if (halves.length > 2) return undefined;
  const [head = [], tail] = halves.map((half) => (half === '' ? [] : half.split(':').map(groupOf)));
  const missing = GROUPS - head.length - (tail?.length ?? 0);
  if (tail === undefined ? missing !== 0 : missing < 1) return undefined;
  const groups = [...head, ...new Array<number>(missing).fill(0), ...(tail ?? [])];
  return groups.some(Number.isNaN) ? undefined : groups;
}

/** `::ffff:192.0.2.1` is `::ffff:c000:201`. */
function withHexTail(address: string): string {
  const match = /^(.*:)(\d{1,3})\.(\d{1,3})\.(\d{1,3})\.(\d{1,3})$/.exec(address);
  if (match === null) return address;
  const [, head = '', ...digits] = match;
  const [first = 0, second = 0, third = 0, fourth = 0] = digits.map(Number);
  if (Math.max(first, second, third, fourth) > 0xff) return address;
  return `${head}${(first * 256 + second).toString(16)}:${(third * 256 + fourth).toString(16)}`;
}

function groupOf(text: string): number {
  return /^[0-9a-f]{1,4}$/i.test(text) ? Number.parseInt(text, 16) : Number.NaN;
}

function isMapped(groups: readonly number[]): boolean {
  return (
    groups[MAPPED_GROUP] === GROUP_MAX &&
    groups.slice(0, MAPPED_GROUP).every((group) => group === 0)
  );
}

function ipv4Of(groups: readonly number[]): string {
  const bytes = groups.slice(MAPPED_GROUP + 1).flatMap((group) => [group >> 8, group & 0xff]);
  return bytes.join('.');
}

function networkOf(groups: readonly number[]): string {
  const whole = Math.floor(PREFIX_BITS / GROUP_BITS);
  const mask = GROUP_MAX & (GROUP_MAX << (GROUP_BITS - (PREFIX_BITS % GROUP_BITS)));
  const kept = groups.slice(0, whole + 1).map((group, at) => (at < whole ? group : group & mask));
  return `${kept.map((group) => group.toString(16)).join(':')}::/${PREFIX_BITS}`;
}
