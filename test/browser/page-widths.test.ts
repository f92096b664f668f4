import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Inventory, TrackedContainer } from '../../src/domain/inventory.ts';
import { missingPermissions, type PermissionName } from '../../src/domain/outside/permission.ts';
import { beingRepaired, nameIsTaken } from '../../src/domain/recovery/leftovers.ts';
import { buildPage } from '../support/pages/built-page.ts';
import { digestOf } from '../support/scene/builders.ts';
import { startHttp } from '../support/http/http-scene.ts';
import { createScriptedService, watchedContainer } from '../support/http/scripted-service.ts';
import { describeInBrowser, openBrowser } from './browser.ts';
import { type OpenOptions, openPage, type OpenPage, row } from './stage.ts';
import { violations } from './violations.ts';

const engines = ['nas', 'raspberry-pi-in-the-basement-behind-the-washing-machine'];
const long = `a-very-long-name-${'of-a-container-'.repeat(6)}end`;
const from = '2024.11.25-build-4711-amd64-nightly';
const to = '2024.11.26-build-4712-amd64-nightly';

const widths = [360, 390, 768, 1024, 1280].map((width) => [width] as const);
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

describeInBrowser('long names and versions', () => {
  let scene: Scene;
  beforeAll(async () => {
    scene = await startScene(
      engines.flatMap((engine) => [
        watchedContainer(long, { ...stale, engine, project: long }),
        watchedContainer('sick', { ...fresh, engine, health: 'unhealthy' }),
        watchedContainer('unchecked', { engine }),
      ]),
    );
  });
  afterAll(() => scene.close());

  test.each(widths)('fit into a page of %i px, and into its dialog', async (width) => {
    const page = await scene.open({ width, at: '#/?group=project' });
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
    const page = await scene.open({ width });
    await row(page, 'nas/sick').getByText('unhealthy').waitFor();
    await page.close();
  });
});

describeInBrowser('a name and a version without a place to break', () => {
  const name = 'x'.repeat(120);
  let scene: Scene;
  beforeAll(async () => {
    const version = '9'.repeat(100);
    const parts = { ...stale, project: name, version, latestVersion: `${version}1`, reason: name };
    scene = await startScene([watchedContainer(name, parts)]);
  });
  afterAll(() => scene.close());

  test.each(widths)('fit into a page of %i px, its headline and its drawer', async (width) => {
    const page = await scene.open({ width, at: `#/c/${name}`, reducedMotion: 'reduce' });
    await page.locator('#drawer .actions button').first().waitFor();
    expect(await sidewaysOf(page)).toEqual([]);
    await page.keyboard.press('Escape');
    await page.locator('#drawer').waitFor({ state: 'hidden' });
    expect(await sidewaysOf(page)).toEqual([]);
    await page.close();
  });
});

describeInBrowser('a container that an update has left down', () => {
  const name = 'web.upkeep-old-a';
  const reason = nameIsTaken('web', { name, status: 'exited' });
  let scene: Scene;
  beforeAll(async () => {
    const unfinished = [
      { name, image: 'nginx:1', state: 'repair pending', reason, isDown: true },
      { name: 'db', image: 'postgres:17', state: 'in progress', reason: beingRepaired('db') },
    ] as const;
    scene = await startScene([watchedContainer('web', fresh), watchedContainer('calm', fresh)], unfinished);
  });
  afterAll(() => scene.close());

  test.each(widths)('is in the headline, the first row and the drawer of a page of %i px', async (width) => {
    const page = await scene.open({ width, reducedMotion: 'reduce' });
    await page.getByRole('heading', { name: `${name} is down` }).waitFor();
    expect(await page.locator('tr.row').first().getAttribute('data-name')).toBe(name);
    expect(await sidewaysOf(page)).toEqual([]);
    await row(page, name).getByText('Down: repair pending').click();
    await page.locator('#drawer').getByText('Rename or remove the other container').first().waitFor();
    expect(await sidewaysOf(page)).toEqual([]);
    await page.close();
  });
});

describeInBrowser('calls that a proxy in front of the engine forbids', () => {
  let scene: Scene;
  beforeAll(async () => {
    scene = await startScene([watchedContainer('web', stale)]);
  });
  afterAll(() => scene.close());

  /** The texts of `permission.ts`, so that the page shows what log and `check` show. */
  async function shown(page: OpenPage, forbidden: readonly PermissionName[]): Promise<string> {
    const missing = missingPermissions(forbidden);
    scene.script.missingPermissions = missing;
    const message = page.locator('#banner').getByText(missing?.message ?? '');
    await lookUntil(page, () => message.isVisible());
    return (await page.locator('#banner').textContent()) ?? '';
  }

  /** A page that is still reading when someone looks at it does not read again at once. */
  async function lookUntil(page: OpenPage, isShown: () => Promise<boolean>): Promise<void> {
    const look = async () => {
      await page.evaluate(`document.dispatchEvent(new Event('visibilitychange'))`);
      return isShown();
    };
    await expect.poll(look, { timeout: 30_000 }).toBe(true);
  }

  test.each([360, 390, 1280])('are named all at once, with the settings that permit them, at %i px', async (width) => {
    const page = await scene.open({ width });
    const text = await shown(page, ['networks', 'pull', 'start', 'remove']);
    expect(text).toContain(
      'Updates are not possible: a proxy in front of the engine forbids GET /networks, POST /images/create and POST /containers/{id}/start.',
    );
    for (const flag of ['NETWORKS=1', 'ALLOW_START=1', 'DELETE=1', '-allowPOST=', '-allowDELETE='])
      expect(text).toContain(flag);
    expect(await page.locator('#banner').getAttribute('class')).toContain('bad');
    expect(await sidewaysOf(page)).toEqual([]);
    expect(await page.evaluate('document.documentElement.scrollWidth - innerWidth')).toBeLessThanOrEqual(0);
    expect(await violations(page)).toEqual([]);
    await page.close();
  });

  test('that updates work without are a warning, and go when they are permitted', async () => {
    const page = await scene.open();
    const text = await shown(page, ['logs', 'untag']);
    expect(text).toContain('Updates work in part: a proxy in front of the engine forbids GET /containers/{id}/logs');
    expect(text).toContain('ALLOW_LOGS=1');
    expect(await page.locator('#banner').getAttribute('class')).not.toContain('bad');
    scene.script.missingPermissions = undefined;
    await lookUntil(page, () => page.locator('#banner').isHidden());
    await page.close();
  });
});

type Scene = Awaited<ReturnType<typeof startScene>>;

async function startScene(containers: readonly TrackedContainer[], unfinished: Inventory['unfinished'] = []) {
  const service = createScriptedService();
  service.script.inventory = { revision: 2, containers, images: [], unfinished };
  const built = buildPage();
  const http = await startHttp(service, { dashboardFolder: built.folder });
  const browser = await openBrowser();
  return {
    script: service.script,
    open: (options: OpenOptions = {}) => openPage(browser.context, http.url, options),
    close: async () => {
      await browser.close();
      await http.stop();
      built.remove();
    },
  };
}

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
      ...[...document.querySelectorAll('main, .tools, .search, .select, .c-version span, .plan span, .text-button, .button')].filter(isOut),
      ...[...document.querySelectorAll('.dialog-body, .c-version, .plan li, .drawer, .verdict, h1, h2')].filter(isCut),
    ].map(({ tagName, className, textContent }) => tagName + '.' + className + ' ' + textContent.slice(0, 60));
  })()`);
}
