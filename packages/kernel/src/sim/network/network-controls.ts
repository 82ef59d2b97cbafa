// What a test can do to the simulated network, and observe.
import type { Link } from './link.js';
import type { LinkProfile } from './link-profile.js';

export interface NetworkControls {
  /** How all links between machines behave. Omitted fields keep their values. */
  adjust(profile: Partial<LinkProfile>): void;
  /** How one link behaves. The opposite direction is a separate link. */
  adjustLink(from: string, to: string, profile: Partial<LinkProfile>): void;
  /** Nothing passes from any of `from` to any of `to`. The opposite direction stays open. */
  block(from: readonly string[], to: readonly string[]): void;
  unblock(from: readonly string[], to: readonly string[]): void;
  /** Nothing passes between the two groups, in either direction. */
  partition(left: readonly string[], right: readonly string[]): void;
  /** Opens every link. Connections that had bytes in flight continue, or turn out to be dead. */
  heal(): void;
  /** Cuts connections in the middle of what they are sending. */
  resetConnections(isWanted: (from: string, to: string) => boolean): void;
  /**
   * The URI names of a machine's certificate: the `peerUris` that its peers see on new connections. A machine
   * has none until then, as without mutual TLS.
   */
  certify(machine: string, uris: readonly string[]): void;
  /** The link from one machine to another. */
  link(from: string, to: string): Pick<Link, 'isOpen' | 'profile'>;
}
