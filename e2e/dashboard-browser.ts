// A real Chromium on the dashboard, which records what the page must never do: contact another server, violate
// its policy, or throw.
import { type Browser, type BrowserContextOptions, chromium, type Page } from 'playwright-core';

const CHROMIUM = '/usr/bin/chromium';
/** Only against waiting forever: on a busy machine everything takes longer. */
const TIMEOUT_MS = 60_000;

/** As root it has no sandbox; the rest keeps the browser itself from calling out. */
const ARGS = [
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
];

export interface WatchedPage extends AsyncDisposable {
  readonly page: Page;
  /** Problems so far, in words. Lost connections to the page's own server do not count. */
  readonly offences: readonly string[];
}

export class DashboardBrowser implements AsyncDisposable {
  readonly #browser: Browser;

  private constructor(browser: Browser) {
    this.#browser = browser;
  }

  static async start(): Promise<DashboardBrowser> {
    return new DashboardBrowser(
      await chromium.launch({ executablePath: CHROMIUM, args: ARGS, timeout: TIMEOUT_MS }),
    );
  }

  /** A tab in its own session. */
  async open(url: string, options: BrowserContextOptions = {}): Promise<WatchedPage> {
    const context = await this.#browser.newContext(options);
    context.setDefaultTimeout(TIMEOUT_MS);
    const page = await context.newPage();
    const offences: string[] = [];
    const { origin } = new URL(url);
    page.on('request', (request) => {
      if (!request.url().startsWith(`${origin}/`)) offences.push(`asked ${request.url()}`);
    });
    page.on('pageerror', (error) => offences.push(`threw ${error.message}`));
    page.on('console', (message) => {
      const text = message.text();
      if (message.type() === 'error' && !text.startsWith('Failed to load resource'))
        offences.push(text);
    });
    page.on('dialog', (dialog) => {
      offences.push(`a dialog: ${dialog.message()}`);
      void dialog.dismiss();
    });
    await page.goto(url);
    return { page, offences, [Symbol.asyncDispose]: () => context.close() };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#browser.close();
  }
}

/** Printed only on request. */
export function printFigures(figures: Readonly<Record<string, unknown>>): void {
  process.stderr.write(`${JSON.stringify(figures, null, 2)}\n`);
}
