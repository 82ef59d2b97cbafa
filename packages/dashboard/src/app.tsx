// The frame around every view: navigation, connection, token, theme, keys.
import { useEffect, useRef, useState } from 'preact/hooks';
import { clockOffset, ServerClock, useNow } from './clock.js';
import { formatDuration, formatTime } from './format.js';
import { jobDataBuilder } from './job-data.js';
import { type Connection, snapshotBuilder, useLive } from './live.js';
import { Badge, Empty, Skeleton } from './marks.js';
import { liveQueryOf, navigate, parseRoute, type Route, useRoute } from './route.js';
import { storeToken } from './server.js';
import { ViewOf } from './views/view-of.js';

const SECTIONS = [
  { view: 'overview', path: '/', title: 'Overview' },
  { view: 'fair', path: '/fair', title: 'Fair' },
  { view: 'jobs', path: '/jobs', title: 'Jobs' },
  { view: 'sets', path: '/sets', title: 'Sets' },
  { view: 'streams', path: '/streams', title: 'Streams' },
] as const;

const SECTION_OF: Readonly<Record<Route['view'], string>> = {
  overview: 'overview',
  fair: 'fair',
  jobs: 'jobs',
  job: 'jobs',
  sets: 'sets',
  set: 'sets',
  streams: 'streams',
  unknown: '',
};

export function App() {
  const route = useRoute();
  const builder = route.view === 'job' ? jobDataBuilder : snapshotBuilder;
  const query = liveQueryOf(route);
  const place = route.view === 'job' || route.view === 'set' ? (query ?? '') : route.view;
  const { connection, data, retry } = useLive(query, place, builder);
  const help = useRef<HTMLDialogElement>(null);
  useKeys(() => help.current?.showModal());
  useEffect(() => {
    document.title = `${titleOf(route)} · Syncline`;
  }, [route]);
  const shown = useRef(place);
  useEffect(() => {
    if (shown.current === place) return;
    shown.current = place;
    // Moves the focus to the new view, so that Tab continues there and a screen reader reads it.
    document.getElementById('content')?.focus({ preventScroll: true });
  }, [place]);
  const isLost = connection.phase === 'lost';
  return (
    <ServerClock.Provider value={clockOffset(connection)}>
      <a class="skip" href="#content">
        Skip to content
      </a>
      <div class="frame" onClick={followLink}>
        <Sidebar section={SECTION_OF[route.view]} onHelp={() => help.current?.showModal()} />
        <div class="main">
          <header class="top">
            <h1>{titleOf(route)}</h1>
            <Freshness connection={connection} />
          </header>
          {isLost && (
            <LostBanner connection={connection} hasData={data !== undefined} onRetry={retry} />
          )}
          <main id="content" tabIndex={-1} class={isLost ? 'is-old' : ''}>
            {connection.phase === 'denied' ? (
              <Login isWrong={connection.isTokenWrong} onToken={retry} />
            ) : (
              <Content route={route} connection={connection} data={data} />
            )}
          </main>
        </div>
      </div>
      <HelpDialog dialog={help} />
    </ServerClock.Provider>
  );
}

function Content({
  route,
  connection,
  data,
}: {
  readonly route: Route;
  readonly connection: Connection;
  readonly data: unknown;
}) {
  if (route.view === 'unknown') {
    return (
      <Empty title="Page not found">
        <p>
          <a href="/">Go to the overview</a>
        </p>
      </Empty>
    );
  }
  if (connection.phase === 'refused') {
    return (
      <Empty title="Nothing to show">
        <p>{connection.problem}</p>
        <p class="muted">This page tries again every few seconds.</p>
      </Empty>
    );
  }
  if (data === undefined) {
    return connection.phase === 'lost' ? (
      <Empty title="Waiting for the server">
        <p>No data received yet.</p>
      </Empty>
    ) : (
      <Skeleton />
    );
  }
  return <ViewOf route={route} data={data} serverAtMs={connection.serverAtMs} />;
}

function titleOf(route: Route): string {
  if (route.view === 'job') return 'Job';
  if (route.view === 'set') return 'Set';
  return SECTIONS.find(({ view }) => view === route.view)?.title ?? 'Not found';
}

/** Links within the page need no reload. Modified clicks keep their usual meaning. */
function followLink(event: MouseEvent): void {
  const link = event.target instanceof Element ? event.target.closest('a') : null;
  if (link?.target !== '' || link.origin !== location.origin) return;
  if (event.button !== 0 || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey)
    return;
  if (link.pathname.startsWith('/api/') || link.hash !== '') return;
  event.preventDefault();
  navigate(parseRoute(link.pathname, link.search));
  scrollTo(0, 0);
}

function Sidebar({ section, onHelp }: { readonly section: string; readonly onHelp: () => void }) {
  return (
    <nav class="side" aria-label="Views">
      <a class="brand" href="/" aria-label="Syncline, overview">
        <svg viewBox="0 0 32 32" aria-hidden="true">
          <rect width="32" height="32" rx="8" />
          <path d="M7 11c4 0 5 5 9 5s5-5 9-5M7 21c4 0 5-5 9-5s5 5 9 5" />
          <circle cx="16" cy="16" r="2.6" />
        </svg>
        <span>Syncline</span>
      </a>
      <ul>
        {SECTIONS.map(({ view, path, title }) => (
          <li key={view}>
            <a href={path} aria-current={view === section ? 'page' : undefined}>
              {title}
            </a>
          </li>
        ))}
      </ul>
      <div class="side-foot">
        <ThemeButton />
        <button type="button" class="quiet" onClick={onHelp}>
          Keys
        </button>
        <a class="quiet" href="/api/openapi.json" target="_blank" rel="noreferrer">
          API
        </a>
      </div>
    </nav>
  );
}

/** Shows whether the data on screen is current. */
function Freshness({ connection }: { readonly connection: Connection }) {
  const now = useNow();
  const { phase, receivedAtMs } = connection;
  if (phase === 'live') {
    const age = Math.max(0, now - receivedAtMs);
    return (
      <div class="fresh">
        <Badge tone="good">Live</Badge>
        <span class="muted">
          {age < 2_000 ? 'updated now' : `updated ${formatDuration(age)} ago`}
        </span>
      </div>
    );
  }
  if (phase === 'lost') return <Badge tone="bad">Connection lost</Badge>;
  if (phase === 'denied') return <Badge tone="warn">Token required</Badge>;
  if (phase === 'refused') return <Badge tone="warn">Not found</Badge>;
  return <Badge tone="busy">Connecting</Badge>;
}

function LostBanner(props: {
  readonly connection: Connection;
  readonly hasData: boolean;
  readonly onRetry: () => void;
}) {
  const { lostAtMs, attempts, problem, receivedAtMs } = props.connection;
  const now = useNow();
  return (
    <div class="banner" role="alert">
      <div>
        <strong>No connection to {location.host}</strong> since {formatTime(lostAtMs)} (
        {formatDuration(Math.max(0, now - lostAtMs))}): {problem}. Tried{' '}
        {attempts === 1 ? 'once' : `${attempts} times`}.
        {props.hasData && ` This data is from ${formatTime(receivedAtMs)}.`} Reconnecting
        automatically.
      </div>
      <button type="button" onClick={props.onRetry}>
        Retry now
      </button>
    </div>
  );
}

function Login({ isWrong, onToken }: { readonly isWrong: boolean; readonly onToken: () => void }) {
  const [token, setToken] = useState('');
  const submit = (event: Event) => {
    event.preventDefault();
    storeToken(token.trim());
    onToken();
  };
  return (
    <form class="card login" onSubmit={submit}>
      <h2>This server requires a token</h2>
      <p class="muted">
        It is in the file set by auth.token_file. The token is kept in this tab until you close it.
      </p>
      <label for="token">Token</label>
      <input
        id="token"
        type="password"
        autocomplete="off"
        value={token}
        aria-invalid={isWrong}
        aria-describedby={isWrong ? 'token-wrong' : undefined}
        onInput={(event) => setToken(event.currentTarget.value)}
      />
      {isWrong && (
        <p id="token-wrong" class="field-error" role="alert">
          The server did not accept this token.
        </p>
      )}
      <button type="submit" class="primary" disabled={token.trim() === ''}>
        Open
      </button>
    </form>
  );
}

const THEME_KEY = 'syncline-theme';
const THEMES = ['auto', 'light', 'dark'] as const;

type Theme = (typeof THEMES)[number];

function storedTheme(): Theme {
  const stored = sessionStorage.getItem(THEME_KEY);
  return THEMES.find((known) => known === stored) ?? 'auto';
}

function ThemeButton() {
  const [theme, setTheme] = useState<Theme>(storedTheme);
  useEffect(() => {
    document.documentElement.dataset['theme'] = theme;
    sessionStorage.setItem(THEME_KEY, theme);
    dispatchEvent(new Event('syncline:theme'));
  }, [theme]);
  const next = THEMES[(THEMES.indexOf(theme) + 1) % THEMES.length] ?? 'auto';
  return (
    <button type="button" class="quiet" onClick={() => setTheme(next)}>
      Theme: {theme}
    </button>
  );
}

/** Keys that work everywhere except in input fields. */
function useKeys(onHelp: () => void): void {
  useEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      if (event.metaKey || event.ctrlKey || event.altKey) return;
      const { target } = event;
      if (event.key === 'Escape' && target instanceof HTMLInputElement) target.blur();
      if (target instanceof Element && target.closest('input, select, textarea, dialog')) return;
      const section = SECTIONS[Number(event.key) - 1];
      if (section !== undefined) navigate(parseRoute(section.path, ''));
      else if (event.key === '?') onHelp();
      else if (event.key === '/') {
        const search = document.querySelector<HTMLInputElement>('input[type=search]');
        if (search === null) return;
        event.preventDefault();
        search.focus();
      }
    };
    addEventListener('keydown', onKey);
    return () => removeEventListener('keydown', onKey);
  }, [onHelp]);
}

function HelpDialog({ dialog }: { readonly dialog: { current: HTMLDialogElement | null } }) {
  const keys = [
    ['1 – 5', 'Overview, Fair, Jobs, Sets, Streams'],
    ['/', 'Search'],
    ['← ↑ → ↓', 'Move through the grid of a job'],
    ['PgUp PgDn', 'Move by a row of the grid'],
    ['Esc', 'Leave a cell, the search or a dialog'],
    ['?', 'Show this list'],
  ] as const;
  return (
    <dialog ref={dialog} aria-labelledby="keys-title">
      <h2 id="keys-title">Keys</h2>
      <dl class="keys">
        {keys.map(([key, text]) => (
          <div key={key}>
            <dt>
              <kbd>{key}</kbd>
            </dt>
            <dd>{text}</dd>
          </div>
        ))}
      </dl>
      <button type="button" onClick={() => dialog.current?.close()}>
        Close
      </button>
    </dialog>
  );
}
