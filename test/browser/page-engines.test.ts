import { afterAll, beforeAll, expect, test } from 'vitest';
import { createSystemClock } from '../../src/adapters/process/clock.ts';
import { buildPage } from '../support/pages/built-page.ts';
import { createFleetScene, type FleetScene } from '../support/scene/fleet-scene.ts';
import { type HttpScene, startHttp } from '../support/http/http-scene.ts';
import { describeInBrowser, openBrowser } from './browser.ts';
import { drawerOf, openPage, type OpenPage, row, startStage } from './stage.ts';
import { violations } from './violations.ts';

const names = ['web', 'db', 'cache'];

describeInBrowser('the page of several engines', () => {
  let scene: FleetScene;
  let http: HttpScene;
  let page: OpenPage;
  const closing: (() => unknown)[] = [];

  beforeAll(async () => {
    scene = createFleetScene({ names: ['nas', 'pi'], clock: createSystemClock(), settings: { healthWindowMs: 200 } });
    for (const name of names) scene.registry.store.publish(`${name}:1`, { version: '1.0.0' });
    for (const engine of ['nas', 'pi']) for (const name of names) await scene.run(engine, name, `${name}:1`);
    scene.registry.store.publish('web:1', { version: '1.0.1' });
    scene.registry.store.publish('db:1', { version: '1.0.1' });
    await scene.application.follow();
    const built = buildPage();
    http = await startHttp(scene.application, { dashboardFolder: built.folder });
    await http.ask('/v1/check', { method: 'POST' });
    const browser = await openBrowser();
    closing.push(browser.close, http.stop, scene.close, built.remove);
    page = await openPage(browser.context, http.url);
    await page.locator('#live[data-state="live"]').waitFor();
  });
  afterAll(async () => {
    for (const close of closing) await close();
  });

  test('has a row for each container of each engine, and a column that says which', async () => {
    expect(await page.locator('tr.row').count()).toBe(2 * names.length);
    expect(await row(page, 'pi/web').locator('.c-engine').textContent()).toBe('pi');
    expect(await row(page, 'pi/web').locator('.c-name a').textContent()).toBe('web');
    expect(await page.locator('#head-row .c-engine').isVisible()).toBe(true);
    expect(await violations(page)).toEqual([]);
  });

  test('shows one engine only, with an address that brings that back', async () => {
    await page.locator('#engine-filter').selectOption('pi');
    expect(await page.locator('tr.row:visible').count()).toBe(names.length);
    expect(page.url()).toContain('engine=pi');
    await page.reload();
    await row(page, 'pi/web').waitFor();
    expect(await page.locator('tr.row:visible').count()).toBe(names.length);
    await page.locator('#engine-filter').selectOption('');
    expect(await page.locator('tr.row:visible').count()).toBe(2 * names.length);
    await page.locator('#live[data-state="live"]').waitFor();
  });

  test('updates the container of the engine that was meant, and no other of its name', async () => {
    await row(page, 'pi/web').getByRole('button', { name: 'Update pi/web' }).click();
    await page.locator('#confirm .plan').waitFor();
    expect(await page.locator('#confirm .plan .who').allTextContents()).toEqual(['Pull 1 image', 'pi/web']);
    await page.locator('#confirm').getByRole('button', { name: 'Update', exact: true }).click();
    await row(page, 'pi/web')
      .getByText(/^Updated just now/)
      .waitFor();
    expect(await row(page, 'nas/web').locator('.c-status').textContent()).toContain('Update ready');
    await row(page, 'pi/web').locator('.c-name a').click();
    await drawerOf(page, 'pi/web').waitFor();
    await page.locator('#drawer .past', { hasText: 'Updated to 1.0.1' }).waitFor();
    await page.keyboard.press('Escape');
  });

  test('updates containers of several engines with one plan', async () => {
    for (const name of ['nas/web', 'pi/db']) await row(page, name).locator('input').check();
    await page.locator('#bulk').getByRole('button', { name: 'Update 2…' }).click();
    await page.locator('#confirm .plan').waitFor();
    expect(await page.locator('#confirm .plan .who').allTextContents()).toEqual(['Pull 2 images', 'nas/web', 'pi/db']);
    await page.locator('#confirm').getByRole('button', { name: 'Update 2' }).click();
    for (const name of ['nas/web', 'pi/db'])
      await row(page, name)
        .getByText(/^Updated just now/)
        .waitFor();
    expect(await row(page, 'nas/db').locator('.c-status').textContent()).toContain('Update ready');
  });

  test('skips a version in the container of one engine', async () => {
    await row(page, 'nas/db').locator('.c-name a').click();
    await page.locator('#drawer').getByRole('button', { name: 'Skip 1.0.1' }).click();
    await row(page, 'nas/db').getByText('1.0.1 is skipped').waitFor();
    await page.locator('#drawer').getByRole('button', { name: 'Offer again' }).click();
    await row(page, 'nas/db').getByText('Update ready').waitFor();
    await page.keyboard.press('Escape');
  });

  test('says which engine is away, and what is known of its containers; the others go on', async () => {
    scene.engines['pi']?.behave('refusing');
    await http.ask('/v1/check', { method: 'POST' });
    await page.evaluate(`document.dispatchEvent(new Event('visibilitychange'))`);
    await page
      .locator('#banner')
      .getByText(/^pi cannot be reached: .*connection refused/)
      .waitFor();
    expect(await page.locator('#verdict').textContent()).toBe('3 containers are running, 3 unreachable');
    expect(await page.locator('tr.row.away').count()).toBe(names.length);
    await row(page, 'pi/cache').locator('.c-name a').click();
    await drawerOf(page, 'pi/cache').waitFor();
    expect(await page.locator('#drawer').getByRole('button', { name: 'Check', exact: true }).isDisabled()).toBe(true);
    await row(page, 'nas/cache').locator('.c-name a').click();
    await drawerOf(page, 'nas/cache').waitFor();
    expect(await page.locator('#drawer').getByRole('button', { name: 'Check', exact: true }).isDisabled()).toBe(false);
    await page.keyboard.press('Escape');
    expect(await violations(page)).toEqual([]);
    scene.engines['pi']?.behave('well');
    // A request with its name is tried at once, not at the next interval.
    await http.ask('/v1/check?engine=pi', { method: 'POST' });
    await page.evaluate(`document.dispatchEvent(new Event('visibilitychange'))`);
    await page.locator('#banner').waitFor({ state: 'hidden' });
  });

  test('names the engine in a narrow window, too', async () => {
    await page.setViewportSize({ width: 360, height: 740 });
    expect(await row(page, 'pi/web').locator('.on-engine').isVisible()).toBe(true);
    expect(await page.evaluate('document.documentElement.scrollWidth - innerWidth')).toBeLessThanOrEqual(0);
    expect(await violations(page)).toEqual([]);
    // The reload has aborted these.
    const aborted = ['/v1/events', '/dashboard/worker.js'];
    expect(page.complaints.filter((text) => !aborted.some((path) => text.includes(path)))).toEqual([]);
  });
});

describeInBrowser('the page of one engine', () => {
  test('has no column for it', async () => {
    const stage = await startStage([]);
    stage.service.registry.store.publish('web:1', { version: '1' });
    await stage.service.run('web', 'web:1');
    const page = await stage.open();
    await row(page, 'web').waitFor();
    expect(await page.locator('#engine-filter').isVisible()).toBe(false);
    expect(await page.locator('#head-row .c-engine').isVisible()).toBe(false);
    await stage.close();
  });
});
