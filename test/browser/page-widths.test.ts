import { afterAll, beforeAll, expect, test } from 'vitest';
import { buildPage } from '../support/pages/built-page.ts';
import { digestOf } from '../support/scene/builders.ts';
import { type HttpScene, startHttp } from '../support/http/http-scene.ts';
import { createScriptedService, watchedContainer } from '../support/http/scripted-service.ts';
import { describeInBrowser, openBrowser } from './browser.ts';
import { openPage, type OpenPage, row } from './stage.ts';

const engines = ['nas', 'raspberry-pi-in-the-basement-behind-the-washing-machine'];
const long = `a-very-long-name-${'of-a-container-'.repeat(6)}end`;
const from = '2024.11.25-build-4711-amd64-nightly';
const to = '2024.11.26-build-4712-amd64-nightly';

describeInBrowser('long names and versions', () => {
  let http: HttpScene;
  let browser: Awaited<ReturnType<typeof openBrowser>>;
  const closing: (() => unknown)[] = [];

  beforeAll(async () => {
    const service = createScriptedService();
    const stale = {
      staleness: 'stale',
      stale: true,
      updateAvailable: true,
      checkedAtMs: Date.now(),
      version: from,
      latestVersion: to,
      change: 'patch',
      latestDigest: digestOf('newer'),
    } as const;
    const fresh = { staleness: 'fresh', checkedAtMs: Date.now(), version: '1' } as const;
    service.script.inventory = {
      revision: 2,
      containers: engines.flatMap((engine) => [
        watchedContainer(long, { ...stale, engine, project: long }),
        watchedContainer('sick', { ...fresh, engine, health: 'unhealthy' }),
        watchedContainer('unchecked', { engine }),
      ]),
      images: [],
    };
    const built = buildPage();
    http = await startHttp(service, { dashboardFolder: built.folder });
    browser = await openBrowser();
    closing.push(browser.close, http.stop, built.remove);
  });
  afterAll(async () => {
    for (const close of closing) await close();
  });

  const widths = [360, 390, 768, 1024, 1280].map((width) => [width] as const);
  test.each(widths)('fit into a page of %i px, and into its dialog', async (width) => {
    const page = await openPage(browser.context, http.url, { width, at: '#/?group=project' });
    await page.route('**/v1/update?dry_run=true*', (route) => route.fulfill({ json: planOf(engines[1] ?? '') }));
    expect(await sidewaysOf(page)).toEqual([]);
    await page.locator('#group-by').selectOption('status');
    expect(await sidewaysOf(page)).toEqual([]);
    const one = row(page, `${engines[1]}/${long}`);
    expect(await one.locator('.c-version').textContent()).toContain(to);
    await one.locator('[data-act="update"]').click();
    await page.locator('#confirm .plan').waitFor();
    expect(await sidewaysOf(page)).toEqual([]);
    const name = await page.locator('#confirm .plan .who').nth(1).boundingBox();
    expect(name?.width, 'the name has room').toBeGreaterThan(150);
    await page.close();
  });

  test.each([390, 768])('leave a state that needs a look visible at %i px', async (width) => {
    const page = await openPage(browser.context, http.url, { width });
    await row(page, 'nas/sick').getByText('unhealthy').waitFor();
    await page.close();
  });
});

function planOf(engine: string) {
  const step = { engine, name: long, from, to, action: 'update', because: '', depends_on: ['other'], reason: '' };
  return { dry_run: true, plan: [step, { ...step, name: 'other', action: 'restart' }] };
}

/** Texts and controls whose content is cut off, or beyond the edge of the page. */
async function sidewaysOf(page: OpenPage): Promise<readonly string[]> {
  return page.evaluate<string[]>(`(() => {
    const width = document.documentElement.clientWidth;
    const isOut = (node) => node.checkVisibility() && node.getBoundingClientRect().right > width + 1;
    const isCut = (node) => node.checkVisibility() && node.scrollWidth > node.clientWidth + 1;
    return [
      ...[...document.querySelectorAll('main, .tools, .search, .select, .c-version span, .plan span, .text-button, .dialog button')].filter(isOut),
      ...[...document.querySelectorAll('.dialog-body, .c-version, .plan li')].filter(isCut),
    ].map(({ tagName, className, textContent }) => tagName + '.' + className + ' ' + textContent.slice(0, 60));
  })()`);
}
