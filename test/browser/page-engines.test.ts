import { afterAll, beforeAll, expect, test } from 'vitest';
import { describeInBrowser } from './browser.ts';
import { home } from './home.ts';
import { type OpenPage, row, type Stage, startStage } from './stage.ts';
import { violations } from './violations.ts';

const few = home.filter(({ name }) => ['traefik', 'vaultwarden', 'loki'].includes(name));

type Entry = { readonly name: string };

describeInBrowser('the page of several engines', () => {
  let stage: Stage;
  let page: OpenPage;
  const asked: string[] = [];

  /** What the service answers, as if a second engine had the same containers. */
  async function withTwoEngines(page: OpenPage): Promise<void> {
    await page.route('**/v1/containers/details', async (route) => {
      const response = await route.fetch();
      const { containers, ...rest } = (await response.json()) as { readonly containers: readonly Entry[] };
      const on = (engine: string) => containers.map((entry) => ({ ...entry, engine, depends_on: [] }));
      await route.fulfill({ json: { ...rest, containers: [...on('nas'), ...on('pi')] } });
    });
    await page.route('**/v1/check**', async (route) => {
      asked.push(new URL(route.request().url()).search);
      await route.fulfill({ json: { containers: [] } });
    });
  }

  beforeAll(async () => {
    stage = await startStage(few);
    await stage.service.ask('/v1/check', { method: 'POST' });
    page = await stage.open();
    await withTwoEngines(page);
    await page.reload();
    await row(page, 'nas/traefik').waitFor();
    await page.locator('#live[data-state="live"]').waitFor();
  });
  afterAll(() => stage.close());

  test('has a row for each container of each engine, and a column that says which', async () => {
    expect(await page.locator('tr.row').count()).toBe(2 * few.length);
    expect(await row(page, 'pi/traefik').locator('.c-engine').textContent()).toBe('pi');
    expect(await row(page, 'pi/traefik').locator('.c-name a').textContent()).toBe('traefik');
    expect(await page.locator('#head-row .c-engine').isVisible()).toBe(true);
    expect(await violations(page)).toEqual([]);
  });

  test('shows one engine only, with an address that brings that back', async () => {
    await page.locator('#engine-filter').selectOption('pi');
    expect(await page.locator('tr.row:visible').count()).toBe(few.length);
    expect(page.url()).toContain('engine=pi');
    await page.locator('#engine-filter').selectOption('');
    expect(await page.locator('tr.row:visible').count()).toBe(2 * few.length);
  });

  test('opens the container of that engine', async () => {
    await row(page, 'pi/loki').locator('.c-name a').click();
    expect(await page.locator('#drawer-title').textContent()).toBe('pi/loki');
    expect(await page.locator('tr.row.open').count()).toBe(1);
    await page.reload();
    await row(page, 'pi/loki').waitFor();
    expect(await page.locator('#drawer-title').textContent()).toBe('pi/loki');
  });

  test('asks each engine about its own containers', async () => {
    await page.locator('#drawer').getByRole('button', { name: 'Check', exact: true }).click();
    await page.getByText('Checked: nothing to update.').waitFor();
    await page.keyboard.press('Escape');
    expect(asked.splice(0)).toEqual(['?engine=pi&container=loki']);
    for (const name of ['nas/loki', 'pi/traefik']) await row(page, name).locator('input').check();
    await page.locator('#bulk').getByRole('button', { name: 'Check', exact: true }).click();
    await page.getByText('Checked: nothing to update.').waitFor();
    expect(asked.toSorted()).toEqual(['?engine=nas&container=loki', '?engine=pi&container=traefik']);
    await page.keyboard.press('Escape');
  });

  test('names the engine in a narrow window, too', async () => {
    await page.setViewportSize({ width: 360, height: 740 });
    expect(await row(page, 'pi/traefik').locator('.on-engine').isVisible()).toBe(true);
    expect(await page.evaluate('document.documentElement.scrollWidth - innerWidth')).toBeLessThanOrEqual(0);
    expect(await violations(page)).toEqual([]);
  });
});

describeInBrowser('the page of one engine', () => {
  test('has no column for it', async () => {
    const stage = await startStage(few);
    const page = await stage.open();
    expect(await page.locator('#engine-filter').isVisible()).toBe(false);
    expect(await page.locator('#head-row .c-engine').isVisible()).toBe(false);
    await stage.close();
  });
});
