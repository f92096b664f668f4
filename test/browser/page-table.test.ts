import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { describeInBrowser } from './browser.ts';
import { home } from './home.ts';
import { drawerOf, type OpenPage, row, type Stage, startStage } from './stage.ts';
import { violations } from './violations.ts';

describeInBrowser('the table', () => {
  let stage: Stage;
  beforeAll(async () => {
    stage = await startStage(home);
    stage.service.registry.store.misbehave('lscr.io/linuxserver/prowlarr', { kind: 'unreachable' });
    await stage.service.ask('/v1/update?container=grafana', { method: 'POST' });
    await stage.service.ask('/v1/check', { method: 'POST' });
    // A later run only finds that grafana is held back.
    await stage.service.ask('/v1/update?container=grafana', { method: 'POST' });
  });
  afterAll(() => stage.close());

  test('what needs a person comes first, and the counts are the filters', async () => {
    const page = await stage.open();
    const titles = await page.locator('.group-row h2').allTextContents();
    expect(titles.slice(0, 2)).toEqual(['Needs a look', 'Updates']);
    await page.locator('.count[data-kind="wrong"]').click();
    expect(await shown(page)).toContain('prowlarr');
    expect(await shown(page)).not.toContain('traefik');
    expect(page.url()).toContain('show=wrong');
    await page.locator('.count[data-kind="wrong"]').click();
    expect(await shown(page)).toHaveLength(home.length);
    await page.close();
  });

  test('why a version failed is still there after a later run, and who asked for each', async () => {
    const page = await stage.open();
    await row(page, 'grafana').getByRole('button', { name: 'See why grafana' }).click();
    await drawerOf(page, 'grafana').waitFor();
    await page.locator('#drawer .log', { hasText: 'UNIQUE constraint failed' }).waitFor();
    await page
      .locator('#drawer .tell')
      .getByText(/exited with code 1/)
      .waitFor();
    expect(await page.locator('#drawer .by-hand code').isVisible()).toBe(false);
    await page.getByRole('link', { name: 'History' }).click();
    await page.locator('.run').first().waitFor();
    expect(await page.locator('.run .by').allTextContents()).toEqual(['API token', 'API token']);
    await page.close();
  });

  test.each([1440, 1024, 900, 390])('at %d px the bar of a selection covers nothing of the drawer', async (width) => {
    const page = await stage.open({ width });
    if (width < 700) await page.locator('#select-toggle').click();
    await row(page, 'traefik').locator('input').check();
    await page.locator('#bulk').waitFor();
    await page.evaluate(`location.hash = '#/c/vaultwarden'`);
    await drawerOf(page, 'vaultwarden').waitFor();
    const covered = await page.evaluate<string[]>(`(() => {
      const { left, right, top, bottom } = document.getElementById('drawer').getBoundingClientRect();
      const bad = [];
      for (let x = left + 5; x < right; x += 20)
        for (let y = top + 5; y < bottom; y += 20)
          if (document.elementFromPoint(x, y)?.closest('#bulk')) bad.push(x + ',' + y);
      return bad;
    })()`);
    expect(covered).toEqual([]);
    if (width >= 1024) await page.locator('#bulk').getByRole('button', { name: 'Check' }).click({ trial: true });
    await page.close();
  });

  test('what a cooldown holds back says until when, also after a check', async () => {
    const page = await stage.open();
    await row(page, 'jellyfin')
      .getByText(/^Too young until (?:today|tomorrow) /)
      .waitFor();
    await page.close();
  });

  test('a search narrows by name, image and project; nothing found is said, and is undone', async () => {
    const page = await stage.open();
    await page.keyboard.press('/');
    await page.keyboard.type('immich redis');
    expect(await shown(page)).toEqual(['immich-redis']);
    await page.keyboard.type(' nothing like it');
    await page.getByText('Nothing matches “immich redis nothing like it”').waitFor();
    await page.getByRole('button', { name: 'Show all containers' }).click();
    expect(await shown(page)).toHaveLength(home.length);
    await page.close();
  });

  test('groups fold, a filter opens them, and projects are the other grouping', async () => {
    const page = await stage.open();
    await page.locator('.group-toggle', { hasText: 'Up to date' }).click();
    expect(await shown(page)).not.toContain('authelia');
    await page.locator('#search').fill('authelia');
    expect(await shown(page)).toEqual(['authelia']);
    await page.locator('#search').fill('');
    await page.locator('#group-by').selectOption('project');
    expect(page.url()).toContain('group=project');
    await page.close();
  });

  test('an address brings back filter, search and drawer', async () => {
    const page = await stage.open({ at: '#/c/traefik?show=ready&q=tra' });
    await drawerOf(page, 'traefik').waitFor();
    expect(await shown(page)).toEqual(['traefik']);
    expect(await page.locator('#search').inputValue()).toBe('tra');
    await page.keyboard.press('Escape');
    expect(await page.locator('#drawer').isVisible()).toBe(false);
    await page.goBack().catch(() => undefined);
    await page.close();
  });

  test.each(['#/c/%E0%A4%A', '#/c/nobody', '#/?show=nonsense&group=x', '#//', '#/c/'])(
    'the address %s does no harm',
    async (at) => {
      const page = await stage.open({ at });
      await page.locator('#live[data-state="live"]').waitFor();
      expect(page.complaints).toEqual([]);
      await page.close();
    },
  );

  test('the keyboard alone reaches a container, its drawer, and comes back to its row', async () => {
    const page = await stage.open();
    await page.locator('#live[data-state="live"]').waitFor();
    await page.keyboard.press('j');
    await page.keyboard.press('j');
    const name = await page.evaluate<string>('document.activeElement.closest(".row").dataset.name');
    await page.keyboard.press('Enter');
    await drawerOf(page, name).waitFor();
    expect(await page.evaluate('document.activeElement.id')).toBe('drawer-title');
    await page.keyboard.press('j');
    await page.locator('#drawer-title').filter({ hasNotText: name }).waitFor();
    await page.keyboard.press('k');
    await drawerOf(page, name).waitFor();
    await page.keyboard.press('Escape');
    expect(await page.evaluate('document.activeElement.closest(".row").dataset.name')).toBe(name);
    await page.keyboard.press('x');
    await page.getByText('1 selected').waitFor();
    await page.keyboard.press('Escape');
    expect(await page.locator('#bulk').isVisible()).toBe(false);
    await page.keyboard.press('?');
    await page.getByRole('heading', { name: 'Keyboard' }).waitFor();
    await page.keyboard.press('Escape');
    await page.keyboard.press('g');
    expect(page.url()).toContain('group=project');
    await page.close();
  });

  test('the keyboard goes on at the same row when the rows are grouped in another way', async () => {
    const page = await stage.open();
    await page.locator('#live[data-state="live"]').waitFor();
    const focused = () => page.evaluate<string>('document.activeElement.closest(".row")?.dataset.name');
    for (let step = 0; step < 5; step += 1) await page.keyboard.press('j');
    const name = await focused();
    for (const group of ['project', 'status']) {
      await page.keyboard.press('g');
      await expect.poll(() => page.locator('#group-by').inputValue()).toBe(group);
      expect(await focused()).toBe(name);
      expect(await row(page, name).locator('.c-name a').isVisible()).toBe(true);
    }
    await page.keyboard.press('x');
    await page.getByText('1 selected').waitFor();
    await page.close();
  });

  test('the keyboard goes on at the row that a dialog was opened from, even if the row was filled anew meanwhile', async () => {
    const page = await stage.open();
    await page.locator('#live[data-state="live"]').waitFor();
    const link = row(page, 'traefik').locator('.c-name a');
    await link.focus();
    await page.keyboard.press('u');
    await page.locator('#confirm .plan').waitFor();
    await link.evaluate((node) => node.setAttribute('data-before', ''));
    const withdraw = await skip(stage, 'traefik');
    await page.locator('tr.row[data-name="traefik"] a[data-before]').waitFor({ state: 'detached' });
    await withdraw();
    await page.keyboard.press('Tab');
    await page.keyboard.press('Escape');
    await expect
      .poll(() => page.evaluate('document.activeElement.closest(".row")?.dataset.name'), { timeout: 5000 })
      .toBe('traefik');
    await page.keyboard.press('x');
    await page.getByText('1 selected').waitFor();
    await page.close();
  });

  test('Back closes a drawer that was opened, and leaves the filter', async () => {
    const page = await stage.open({ at: '#/?show=ready' });
    await row(page, 'traefik').locator('.c-name a').click();
    await page.locator('#drawer').waitFor();
    expect(page.url()).toContain('show=ready');
    await page.goBack();
    await page.locator('#drawer').waitFor({ state: 'hidden' });
    expect(page.url()).toContain('show=ready');
    await page.close();
  });

  test.each([360, 320])('fits a window of %d pixels, with name, version, state and action', async (width) => {
    const page = await stage.open({ width, height: 740 });
    expect(await page.evaluate('document.documentElement.scrollWidth - innerWidth')).toBeLessThanOrEqual(0);
    for (const part of ['.c-name', '.c-version', '.c-status', '.c-act'])
      expect(await row(page, 'traefik').locator(part).isVisible()).toBe(true);
    await row(page, 'traefik').locator('.c-name a').click();
    await page.locator('#drawer').waitFor();
    expect(await page.evaluate('document.documentElement.scrollWidth - innerWidth')).toBeLessThanOrEqual(0);
    await page.goBack();
    for (const name of ['History', 'Settings']) {
      await page.getByRole('link', { name, exact: true }).click();
      expect(await page.evaluate('document.documentElement.scrollWidth - innerWidth')).toBeLessThanOrEqual(0);
    }
    await page.close();
  });

  test('with less motion asked for, nothing moves', async () => {
    const page = await stage.open({ reducedMotion: 'reduce', at: '#/c/traefik' });
    expect(await page.evaluate('document.getAnimations().length')).toBe(0);
    await page.close();
  });

  describe.each(['light', 'dark'] as const)('in the %s theme', (colorScheme) => {
    test.each([
      ['the table', '', 1440],
      ['a drawer', '#/c/grafana', 1440],
      ['projects', '#/?group=project', 1440],
      ['the history', '#/history', 1440],
      ['the settings', '#/settings', 1440],
      ['a phone', '', 360],
      ['a drawer on a phone', '#/c/grafana', 360],
    ])('axe finds nothing wrong with %s', async (_, at, width) => {
      const page = await stage.open({ at, width, colorScheme, reducedMotion: 'reduce' });
      await page.locator('#live[data-state="live"]').waitFor();
      expect(await violations(page)).toEqual([]);
      await page.close();
    });

    test('axe finds nothing wrong with the sign-in', async () => {
      const page = await stage.context.newPage();
      await page.emulateMedia({ colorScheme });
      await stage.context.clearCookies();
      await page.goto(stage.service.url);
      await page.locator('#signin').waitFor();
      expect(await violations(page)).toEqual([]);
      await page.close();
    });
  });

  test('the theme that was chosen lasts over a reload', async () => {
    const page = await stage.open({ colorScheme: 'light' });
    await page.locator('#theme-button').click();
    await page.locator('#theme-button').click();
    await page.reload();
    expect(await page.evaluate('document.documentElement.dataset.theme')).toBe('dark');
    await page.locator('#theme-button').click();
    await page.close();
  });
});

async function shown(page: OpenPage): Promise<readonly string[]> {
  return page.evaluate<string[]>(
    `[...document.querySelectorAll('tr.row')].filter((row) => !row.hidden).map((row) => row.dataset.name)`,
  );
}

/** Skips the newer version of a container; withdraws that when it is called. */
async function skip({ service }: Stage, container: string): Promise<() => Promise<void>> {
  const { containers } = (await service.ask('/v1/containers/details')).json();
  const { latest_digest: digest } = containers.find(({ name }: { name: string }) => name === container);
  const headers = { 'content-type': 'application/json' };
  const body = JSON.stringify({ decision: 'skip', container, digest });
  const { id } = (await service.ask('/v1/decisions', { method: 'POST', headers, body })).json();
  return async () => void (await service.ask(`/v1/decisions/${id}`, { method: 'DELETE' }));
}
