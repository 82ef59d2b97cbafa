// Advice about the URL of a server, which names what to change: the option, the variable, or the settings.
import type { StatusTarget } from './status-target.js';

type Given = Pick<StatusTarget, 'urlSource'>;

/** `use http:// in --url`, without a full stop. */
export function useInUrl({ urlSource }: Given, part: string): string {
  return urlSource === 'configuration' ? `pass --url with ${part}` : `use ${part} in ${urlSource}`;
}

export function checkHost({ urlSource }: Given): string {
  return urlSource === 'configuration'
    ? 'Check listen_host in the configuration, or pass --url.'
    : `Check the host in ${urlSource}.`;
}

/** For an answer that the server of this configuration would not give. */
export function otherServerAdvice({ urlSource }: Given): string {
  if (urlSource !== 'configuration') return `Check ${urlSource}.`;
  return 'The address comes from the configuration: another server seems to use this port. Stop that one, or pass --url.';
}
