import type { BrowserContext, Page } from 'playwright-core';
import { buildPage } from '../support/pages/built-page.ts';
import { apiToken } from '../support/http/http-scene.ts';
import type { WholeService, WholeServiceOptions } from '../support/http/whole-service.ts';
import { openBrowser, watchPage } from './browser.ts';
import { type HomeContainer, startHome } from './home.ts';

/** The built page over the whole service, in a browser. */
export type Stage = {
  readonly service: WholeService;
  readonly context: BrowserContext;
  /** The files of the page. */
  readonly folder: string;
  /** A signed-in page at an address, after its rows are shown. */
  readonly open: (options?: OpenOptions) => Promise<OpenPage>;
  readonly close: () => Promise<void>;
};

export type OpenOptions = {
  readonly at?: string;
  readonly width?: number;
  readonly height?: number;
  readonly colorScheme?: 'light' | 'dark';
  readonly reducedMotion?: 'reduce';
  /** Signs in with it; `apiToken` by default. */
  readonly token?: string;
};

export type OpenPage = Page & { readonly complaints: string[]; readonly hosts: Set<string> };

export async function startStage(
  containers: readonly HomeContainer[],
  options: WholeServiceOptions = {},
): Promise<Stage> {
  const built = buildPage();
  const [service, browser] = await Promise.all([
    startHome(containers, { dashboardFolder: built.folder, ...options }),
    openBrowser(),
  ]);
  return {
    service,
    context: browser.context,
    folder: built.folder,
    open: (wanted) => openPage(browser.context, service.url, wanted),
    close: async () => {
      await browser.close();
      await service.stop();
      built.remove();
    },
  };
}

export async function openPage(context: BrowserContext, url: string, options: OpenOptions = {}): Promise<OpenPage> {
  const { at = '', width = 1440, height = 900, colorScheme, reducedMotion, token = apiToken } = options;
  const page = await context.newPage();
  const watched = watchPage(page);
  await page.setViewportSize({ width, height });
  await page.emulateMedia({ ...(colorScheme && { colorScheme }), ...(reducedMotion && { reducedMotion }) });
  await page.goto(`${url}/${at}`);
  // The browser of the stage may be signed in already.
  const isReady = page.locator('#signin:not([hidden]), #table:not([aria-busy])').first();
  await isReady.waitFor({ state: 'attached' });
  if (await page.locator('#signin').isVisible()) await signIn(page, token);
  await page.locator('#signin').waitFor({ state: 'hidden' });
  await page.locator('#table[aria-busy]').waitFor({ state: 'detached' });
  return Object.assign(page, watched);
}

export async function signIn(page: Page, token: string): Promise<void> {
  await page.locator('#token').fill(token);
  await page.locator('#signin-button').click();
}

/** Requests of a shared worker cannot be intercepted: each tab then sends its own. */
export const withoutSharedWorker = 'delete window.SharedWorker';

/** The row of a container. */
export function row(page: Page, name: string) {
  return page.locator(`tr.row[data-name="${name}"]`);
}

/** The title of the drawer once it shows this container: the page opens it a moment after the click. */
export function drawerOf(page: Page, name: string) {
  return page.locator('#drawer-title').and(page.getByText(name, { exact: true }));
}
