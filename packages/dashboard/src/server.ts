// Requests to the page's own server, with the token entered in this tab.
//
// The token is kept for this tab only: sessionStorage ends with the tab and is not shared with others.

const TOKEN_KEY = 'syncline-token';

export function storedToken(): string {
  return sessionStorage.getItem(TOKEN_KEY) ?? '';
}

export function storeToken(token: string): void {
  if (token === '') sessionStorage.removeItem(TOKEN_KEY);
  else sessionStorage.setItem(TOKEN_KEY, token);
}

/** An error response of the server. */
export class ServerProblem extends Error {
  readonly status: number;

  constructor(status: number, detail: string) {
    super(detail);
    this.status = status;
  }
}

/** Rejects with ServerProblem for an error response, and with TypeError if there is no response. */
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
    // an error page from a proxy
  }
  return `the server responded with HTTP ${response.status}`;
}
