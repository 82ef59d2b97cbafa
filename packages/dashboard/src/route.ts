// A URL for every view, and the data that each requests from the server.
//
//   /  /fair?tracker=  /jobs?q=&worst=  /jobs/ID?task=&tag=  /sets?from=  /sets/ID?from=  /streams
import { useEffect, useState } from 'preact/hooks';

export type Route =
  | { readonly view: 'overview' }
  | { readonly view: 'fair'; readonly tracker: string }
  | { readonly view: 'jobs'; readonly q: string; readonly worst: string }
  | { readonly view: 'job'; readonly job: string; readonly task: number; readonly tag: string }
  | { readonly view: 'sets'; readonly from: string }
  | { readonly view: 'set'; readonly set: string; readonly from: string }
  | { readonly view: 'streams' }
  | { readonly view: 'unknown'; readonly path: string };

export function parseRoute(path: string, search: string): Route {
  const query = new URLSearchParams(search);
  const [, first = '', second] = path.split('/');
  const name = second === undefined || second === '' ? undefined : decode(second);
  switch (first) {
    case '':
      return { view: 'overview' };
    case 'fair':
      return { view: 'fair', tracker: query.get('tracker') ?? '' };
    case 'jobs': {
      if (name === undefined)
        return { view: 'jobs', q: query.get('q') ?? '', worst: query.get('worst') ?? '' };
      const task = Number.parseInt(query.get('task') ?? '', 10);
      return {
        view: 'job',
        job: name,
        task: Number.isNaN(task) ? -1 : task,
        tag: query.get('tag') ?? '',
      };
    }
    case 'sets': {
      const from = query.get('from') ?? '';
      return name === undefined ? { view: 'sets', from } : { view: 'set', set: name, from };
    }
    case 'streams':
      return { view: 'streams' };
    default:
      return { view: 'unknown', path };
  }
}

export function pathOf(route: Route): string {
  switch (route.view) {
    case 'overview':
      return '/';
    case 'fair':
      return withQuery('/fair', { tracker: route.tracker });
    case 'jobs':
      return withQuery('/jobs', { q: route.q, worst: route.worst });
    case 'job': {
      const cell = route.task < 0 ? {} : { task: String(route.task), tag: route.tag };
      return withQuery(`/jobs/${encodeURIComponent(route.job)}`, cell);
    }
    case 'sets':
      return withQuery('/sets', { from: route.from });
    case 'set':
      return withQuery(`/sets/${encodeURIComponent(route.set)}`, { from: route.from });
    case 'streams':
      return '/streams';
    case 'unknown':
      return route.path;
  }
}

/** The query of /api/live. Undefined: the view needs no data. */
export function liveQueryOf(route: Route): string | undefined {
  switch (route.view) {
    case 'unknown':
      return undefined;
    case 'fair':
      return withQuery('', { view: 'fair', tracker: route.tracker });
    case 'jobs':
      return withQuery('', { view: 'jobs', q: route.q, worst: route.worst });
    case 'job':
      return withQuery('', { view: 'job', job: route.job });
    case 'sets':
      return withQuery('', { view: 'sets', from: route.from });
    case 'set':
      return withQuery('', { view: 'set', set: route.set, from: route.from });
    default:
      return withQuery('', { view: route.view });
  }
}

const CHANGED = 'syncline:route';

/** `replace` for changes that the Back button should not step through, such as each letter of a search. */
export function navigate(route: Route, how: 'push' | 'replace' = 'push'): void {
  const path = pathOf(route);
  if (how === 'push') history.pushState(null, '', path);
  else history.replaceState(null, '', path);
  dispatchEvent(new Event(CHANGED));
}

export function useRoute(): Route {
  const read = () => parseRoute(location.pathname, location.search);
  const [route, setRoute] = useState(read);
  useEffect(() => {
    const update = () => setRoute(read());
    addEventListener('popstate', update);
    addEventListener(CHANGED, update);
    return () => {
      removeEventListener('popstate', update);
      removeEventListener(CHANGED, update);
    };
  }, []);
  return route;
}

function withQuery(path: string, values: Readonly<Record<string, string>>): string {
  const query = new URLSearchParams(Object.entries(values).filter(([, value]) => value !== ''));
  return query.size === 0 ? path : `${path}?${query}`;
}

function decode(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}
