import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, test } from 'vitest';
import { readSchedule } from '../../src/config/table/times.ts';
import { describeInBrowser } from './browser.ts';
import { home, type HomeContainer, publishNewer } from './home.ts';
import { type OpenOptions, type OpenPage, row, type Stage, startStage, withoutSharedWorker } from './stage.ts';

/** `npm run screenshots`: every scene of the page, from the whole service, into docs/screenshots. */
const folder = fileURLToPath(new URL('../../docs/screenshots', import.meta.url));

async function shoot(page: OpenPage, name: string): Promise<void> {
  await page.mouse.move(0, 0);
  await page.screenshot({ path: join(folder, `${name}.png`), animations: 'disabled' });
  await page.close();
}

describeInBrowser('the home server', () => {
  let stage: Stage;
  const closing = new AbortController();
  beforeAll(async () => {
    mkdirSync(folder, { recursive: true });
    // Its health check goes on while the scene of a run is shot.
    const slow = home.map((one) =>
      one.name === 'home-assistant' ? { ...one, labels: { ...one.labels, 'upkeep.health-timeout': '12s' } } : one,
    );
    stage = await startStage(slow, { service: { healthWindowMs: 2500, healthTimeoutMs: 5000 } });
    const { store } = stage.service.registry;
    store.misbehave('lscr.io/linuxserver/prowlarr', { kind: 'rate-limited', max: 0, windowMs: 720_000 });
    await stage.service.ask('/v1/check', { method: 'POST' });
    await stage.service.ask('/v1/update?container=grafana', { method: 'POST' });
    await skip(stage, 'sonarr');
    const schedule = readSchedule('0 4 * * *', 'UTC');
    void stage.service.application.keepUpdating({ schedule, updateOnStart: false }, closing.signal);
  });
  afterAll(() => {
    closing.abort();
    return stage.close();
  });

  const scenes: readonly (readonly [string, OpenOptions])[] = [
    ['desktop-light', {}],
    ['desktop-dark', { colorScheme: 'dark' }],
    ['phone-360', { width: 360, height: 780 }],
    ['drawer', { at: '#/c/immich-server', height: 960 }],
    ['rolled-back', { at: '#/c/grafana', height: 960 }],
    ['held-back', { at: '#/c/sonarr?show=held' }],
    ['held-back-phone', { at: '#/?show=held', width: 360, height: 780 }],
    ['approval-drawer', { at: '#/c/nextcloud', height: 960 }],
    ['projects', { at: '#/?group=project' }],
    ['history', { at: '#/history' }],
    ['settings', { at: '#/settings' }],
    ['settings-dark', { at: '#/settings', colorScheme: 'dark' }],
    ['history-phone', { at: '#/history', width: 360, height: 780 }],
  ];
  test.each(scenes)('%s', async (name, options) => {
    const page = await stage.open({ colorScheme: 'light', ...options });
    await page.locator('#live[data-state="live"]').waitFor();
    await page.locator('#runs', { hasText: 'rolled back' }).waitFor({ state: 'attached' });
    await shoot(page, name);
  });

  test('the dialog', async () => {
    const page = await stage.open({ colorScheme: 'light' });
    for (const name of ['immich-server', 'traefik', 'vaultwarden']) await row(page, name).locator('input').check();
    await page.keyboard.press('u');
    await page.locator('#confirm .plan, #confirm .intro').last().waitFor();
    await page.waitForTimeout(500);
    await shoot(page, 'confirm');
  });

  test('an approval', async () => {
    const page = await stage.open({ colorScheme: 'light' });
    await row(page, 'nextcloud').getByRole('button', { name: 'Approve nextcloud' }).click();
    await page.locator('#confirm .plan').waitFor();
    await shoot(page, 'approve');
  });

  test('an approval on a phone, in the dark', async () => {
    const page = await stage.open({ colorScheme: 'dark', width: 360, height: 780 });
    await row(page, 'nextcloud').getByRole('button', { name: 'Approve nextcloud' }).click();
    await page.locator('#confirm .plan').waitFor();
    await shoot(page, 'approve-phone');
  });

  test('a snooze', async () => {
    const page = await stage.open({ colorScheme: 'light', at: '#/c/traefik' });
    await page.locator('#drawer').getByRole('button', { name: 'Snooze…' }).click();
    await page.locator('#confirm .choices').waitFor();
    await shoot(page, 'snooze');
  });

  test('a run under way', async () => {
    const page = await stage.open({ colorScheme: 'light' });
    await page.locator('#live[data-state="live"]').waitFor();
    const names = 'immich-machine-learning,traefik,home-assistant,vaultwarden,immich-server';
    const done = stage.service.ask(`/v1/update?container=${names}`, { method: 'POST' });
    await row(page, 'home-assistant').locator('.steps li.now', { hasText: 'health' }).waitFor();
    // Sorted again, as for a new visitor.
    await page.locator('#group-by').selectOption('project');
    await page.locator('#group-by').selectOption('status');
    await shoot(page, 'running');
    await done;
  });

  test('offline', async () => {
    const page = await stage.open({ colorScheme: 'light' });
    await page.addInitScript(withoutSharedWorker);
    await page.reload();
    await page.locator('#live[data-state="live"]').waitFor();
    await page.route('**/v1/**', (route) => route.abort());
    stage.service.http.server.closeAllConnections();
    await page.getByText('Upkeep does not answer.').waitFor({ timeout: 20_000 });
    await shoot(page, 'offline');
  });

  test('the engine is away', async () => {
    const page = await stage.open({ colorScheme: 'light' });
    await page.locator('#live[data-state="live"]').waitFor();
    stage.service.sandbox.control.stopEngine('crash');
    await page.locator('#banner.bad').waitFor({ timeout: 45_000 });
    await shoot(page, 'engine-away');
    stage.service.sandbox.control.startEngine();
  });

  test('sign-in, refused', async () => {
    const page = await stage.context.newPage();
    await page.setViewportSize({ width: 1440, height: 900 });
    await page.emulateMedia({ colorScheme: 'light' });
    await stage.context.clearCookies();
    await page.goto(stage.service.url);
    await page.locator('#token').fill('wrong');
    await page.locator('#signin-button').click();
    await page.getByText('That token was not accepted.').waitFor();
    await page.screenshot({ path: join(folder, 'sign-in.png') });
    await page.close();
  });
});

/** Holds the newer version of a container back. */
async function skip({ service }: Stage, container: string): Promise<void> {
  const { containers } = (await service.ask('/v1/containers/details')).json();
  const { latest_digest: digest } = containers.find(({ name }: { readonly name: string }) => name === container);
  const body = JSON.stringify({ container, decision: 'skip', digest });
  await service.ask('/v1/decisions', { method: 'POST', body, headers: { 'Content-Type': 'application/json' } });
}

describeInBrowser('other fleets', () => {
  const fine = home.slice(12).filter(({ newer }) => newer === undefined);
  const roles = ['web', 'api', 'worker', 'db', 'cache'];
  const many = Array.from({ length: 500 }, (_, place): HomeContainer => {
    const project = `tenant-${String(Math.floor(place / 5) + 1).padStart(3, '0')}`;
    const role = roles[place % 5] ?? '';
    return {
      project,
      name: `${project}-${role}`,
      image: `registry.example.net/${role}:stable`,
      version: '8.14.0',
      plain: true,
    };
  });
  const fleets: readonly (readonly [string, readonly HomeContainer[]])[] = [
    ['fine', fine],
    ['many', many],
    ['empty', []],
  ];
  test.each(fleets)('%s', async (name, containers) => {
    const stage = await startStage(containers);
    const api = many.slice(0, 2).filter(({ image }) => image.includes('/api:'));
    if (name === 'many')
      publishNewer(
        stage.service,
        api.map((one) => ({ ...one, newer: '8.15.0' })),
      );
    await stage.service.ask('/v1/check', { method: 'POST' });
    await shoot(await stage.open({ colorScheme: 'light' }), name);
    await stage.close();
  });

  test('loading', async () => {
    const stage = await startStage(fine);
    await stage.context.addInitScript(withoutSharedWorker);
    const page = await stage.open({ colorScheme: 'light' });
    await page.route('**/v1/**', () => undefined);
    await page.reload();
    await page.locator('#table[aria-busy]').waitFor();
    await shoot(page, 'loading');
    await stage.close();
  });
});
