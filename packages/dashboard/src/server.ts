// Requests to the page's own server, with the token that this tab was given.
//
// The token is kept for the tab only: sessionStorage ends with it and is not shared with other tabs.

const TOKEN_KEY = 'syncline-token';

export function storedToken(): string {
  return sessionStorage.getItem(TOKEN_KEY) ?? '';
}

export function storeToken(token: string): void {
  if (token === '') sessionStorage.removeItem(TOKEN_KEY);
  else sessionStorage.setItem(TOKEN_KEY, token);
}

/** What the server answered instead of data. */
export class ServerProblem extends Error {
  readonly status: number;

  constructor(status: number, detail: string) {
    super(detail);
    this.status = status;
  }
}

/** Rejects with ServerProblem for an answer that is not a success, with TypeError when there is none. */
export async function request(
  path: string,
  options: { readonly method?: 'GET' | 'DELETE'; readonly signal?: AbortSignal } = {},
): Promise<Response> {
  const token = storedToken();
  const response = await fetch(path, {
    ...options,
    cache: 'no-store',
    credentials: 'omit',
    headers: token === '' ? {} : { authorization: `Bearer ${token}` },
  });
  if (response.ok) return response;
  throw new ServerProblem(response.status, await detailOf(response));
}

async function detailOf(response: Response): Promise<string> {
  try {
    const { detail } = (await response.json()) as { readonly detail?: unknown };
    if (typeof detail === 'string') return detail;
  } catch {
    // a proxy's page
  }
  return `the server answered HTTP ${response.status}`;
}
