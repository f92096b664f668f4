import { mkdirSync } from 'node:fs';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Forges, TreeRelease } from '../../src/domain/notes/notes.ts';
import { readMarkdown } from '../../src/adapters/forge/markdown.ts';
import { describeInBrowser } from './browser.ts';
import { home, type HomeContainer } from './home.ts';
import { type OpenOptions, type OpenPage, row, type Stage, startStage } from './stage.ts';
import { violations } from './violations.ts';

const few: readonly HomeContainer[] = home
  .filter(({ name }) => ['traefik', 'vaultwarden', 'immich-server'].includes(name))
  .map((one) => ({ ...one, labels: { ...one.labels, 'upkeep.source': `https://github.com/acme/${one.name}` } }));

const hostile = [
  '<img src=x onerror="document.title=\'owned\'"><script>document.title="owned"</script>',
  '[a link](javascript:document.title="owned") and [another](https://docs.example/guide)',
  '![a picture](https://tracker.example/p.png)',
  '<style>body{display:none}</style><iframe src="https://tracker.example/"></iframe>',
  `A very long word ${'without-any-end'.repeat(30)}`,
].join('\n\n');

const texts = [
  '## Highlights\n\n* **Faster** search with `index: true`\n  * and in folders\n\n> [!NOTE]\n> The index is built at night\n\n```yaml\nindex: true\n```',
  '## Breaking changes\n\n* The database moves to another folder; make a dump before the update\n\n## Fixed\n\n* Small things',
  hostile,
];

const releases = Array.from({ length: 20 }, (_, at): TreeRelease => ({
  ...{ tag: `v3.2.${21 - at}`, title: at === 0 ? 'Summer' : '', isPrerelease: false },
  publishedAtMs: Date.UTC(2026, 9, 20 - at),
  url: `https://github.com/acme/traefik/releases/tag/v3.2.${21 - at}`,
  blocks: readMarkdown(texts[at] ?? `* Change number ${at}`),
}));

const forges: Forges = {
  read: ({ repository, steps }) =>
    Promise.resolve(
      repository.path.endsWith('immich-server')
        ? { kind: 'failed', reason: 'github.com: it did not answer within 10s' }
        : {
            kind: 'read',
            etag: undefined,
            steps: steps.map(() => ({
              kind: 'found',
              releases: repository.path.endsWith('traefik') ? releases : releases.slice(0, 1),
              more: repository.path.endsWith('traefik') ? 3 : 0,
            })),
          },
    ),
  close: () => Promise.resolve(),
};

describeInBrowser('release notes on the page', () => {
  let stage: Stage;
  beforeAll(async () => {
    stage = await startStage(few, { forges, service: { approve: { from: 'never', breaking: true, unread: false } } });
  });
  afterAll(() => stage.close());

  test('appear after a check without a reload: a mark in the row, and why the version waits', async () => {
    const page = await stage.open();
    await page.locator('#live[data-state="live"]').waitFor();
    await stage.service.ask('/v1/check', { method: 'POST' });
    await row(page, 'traefik').locator('.badge.breaking').waitFor();
    await row(page, 'traefik').getByText('Waits for your approval: breaking changes').waitFor();
    expect(await row(page, 'vaultwarden').locator('.badge.breaking').count()).toBe(0);
    await row(page, 'vaultwarden').getByText('Update ready').waitFor();
    await row(page, 'immich-server').getByText('Waits for its release notes').waitFor();
    expect(await violations(page)).toEqual([]);
    await page.close();
  });

  const looks: readonly (readonly [string, OpenOptions])[] = [
    ['wide-light', { width: 1280, height: 800 }],
    ['wide-dark', { width: 1280, height: 800, colorScheme: 'dark' }],
    ['narrow-light', { width: 390, height: 844 }],
    ['narrow-dark', { width: 390, height: 844, colorScheme: 'dark' }],
    ['narrowest', { width: 320, height: 700 }],
  ];

  test.each(looks)('of 20 releases have a mark in the row, and are in the drawer, %s', async (name, options) => {
    const page = await stage.open(options);
    const mark = row(page, 'traefik').locator('.badge.breaking');
    await mark.waitFor();
    expect(await isWhole(page, '.row[data-name="traefik"] .badge.breaking')).toBe(true);
    expect(await violations(page)).toEqual([]);
    await shoot(page, `row-${name}`);
    await row(page, 'traefik').click();
    const notes = page.locator('#drawer .notes');
    await notes.locator('details.release').nth(19).waitFor({ state: 'attached' });
    expect(await notes.locator('.points li').allTextContents()).toEqual([
      'The database moves to another folder; make a dump before the update',
      'Faster search with index: true',
      expect.any(String),
      expect.any(String),
      expect.any(String),
      expect.stringMatching(/^and \d+ more in 23 releases$/),
    ]);
    expect(await notes.locator('details[open]').count(), 'the newest is open').toBe(1);
    expect(await notes.locator('details[open] summary').textContent()).toContain('v3.2.21 Summer');
    expect(await page.locator('#drawer .tell p').textContent()).toContain('speak of breaking changes');
    await shoot(page, `drawer-${name}`);
    await open(page, 1);
    await open(page, 2);
    expect(await violations(page)).toEqual([]);
    const sideways = await page.locator('#drawer').evaluate((node) => node.scrollWidth - node.clientWidth);
    expect(sideways).toBeLessThanOrEqual(0);
    await notes.locator('.points').scrollIntoViewIfNeeded();
    await shoot(page, `notes-${name}`);
    await notes.locator('details').nth(2).locator('summary').scrollIntoViewIfNeeded();
    await shoot(page, `hostile-${name}`);
    await notes.locator('details').nth(19).scrollIntoViewIfNeeded();
    await shoot(page, `last-${name}`);
    await page.close();
  });

  test('that are hostile are only text: nothing runs, nothing is fetched, and links go to https alone', async () => {
    const page = await stage.open({ at: '#/c/traefik' });
    await page.locator('#drawer .notes details.release').nth(19).waitFor({ state: 'attached' });
    await open(page, 2);
    const text = page.locator('#drawer .notes details').nth(2);
    expect(await text.textContent()).toContain('a picture');
    expect(await page.locator('#drawer .notes :is(img, script, style, iframe)').count()).toBe(0);
    const links = await text
      .locator('a')
      .evaluateAll((all) => all.map((a) => [a.getAttribute('href'), a.getAttribute('rel')]));
    expect(links).toEqual([
      ['https://docs.example/guide', 'noreferrer noopener'],
      ['https://github.com/acme/traefik/releases/tag/v3.2.19', 'noreferrer noopener'],
    ]);
    expect(await page.title()).not.toContain('owned');
    expect(page.complaints).toEqual([]);
    expect([...page.hosts]).toHaveLength(1);
    await page.close();
  });

  test('that cannot be read say why', async () => {
    const page = await stage.open({ at: '#/c/immich-server' });
    await page.locator('#drawer .notes').getByText('github.com: it did not answer within 10s').waitFor();
    await page.close();
  });

  /** Whether all of it is in the window, and its text is not cut off. */
  async function isWhole(page: OpenPage, selector: string): Promise<boolean> {
    const box = await page.locator(selector).boundingBox();
    const isCut = await page.locator(selector).evaluate((node) => node.scrollWidth > node.clientWidth);
    return box !== null && !isCut && box.x >= 0 && box.x + box.width <= (page.viewportSize()?.width ?? 0);
  }

  async function shoot(page: OpenPage, name: string): Promise<void> {
    const { UPKEEP_SHOTS: shots } = process.env;
    if (shots === undefined) return;
    mkdirSync(shots, { recursive: true });
    await page.screenshot({ path: `${shots}/${name}.png`, animations: 'disabled' });
  }

  async function open(page: OpenPage, at: number): Promise<void> {
    await page.locator('#drawer .notes details').nth(at).locator('summary').click();
  }
});
