import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Route } from 'playwright-core';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { parse } from 'yaml';
import { endpointGroups } from '../../src/domain/settings/http-settings.ts';
import { describeInBrowser } from './browser.ts';
import { home, publishNewer } from './home.ts';
import { drawerOf, type OpenPage, row, type Stage, startStage, withoutSharedWorker } from './stage.ts';

const few = home.filter(({ name }) =>
  ['grafana', 'home-assistant', 'immich-server', 'immich-redis', 'traefik', 'vaultwarden', 'loki'].includes(name),
);

describeInBrowser('what people do on the page', () => {
  let stage: Stage;
  let page: OpenPage;
  beforeAll(async () => {
    stage = await startStage(few, { service: { healthWindowMs: 300, healthTimeoutMs: 3000, keepOldMs: 3_600_000 } });
    await stage.service.ask('/v1/check', { method: 'POST' });
    page = await stage.open();
    await page.locator('#live[data-state="live"]').waitFor();
  });
  afterAll(() => stage.close());

  test('Update… shows the plan, and Enter alone or Cancel starts nothing', async () => {
    const before = running(stage);
    await row(page, 'traefik').getByRole('button', { name: 'Update traefik' }).click();
    await page.locator('#confirm .plan').waitFor();
    expect(await page.locator('#confirm').textContent()).toContain('3.2.1');
    expect(await page.locator('#confirm .promise').textContent()).toContain('is rolled back');
    await page.keyboard.press('Enter');
    expect(await page.locator('#confirm').isVisible()).toBe(true);
    await page.getByRole('button', { name: 'Cancel' }).click();
    expect(running(stage)).toEqual(before);
  });

  test('closing the dialog ends its dry run, and opened again it shows the plan of another one', async () => {
    const other = await stage.open();
    const held: Route[] = [];
    await other.route('**/v1/update?dry_run=true*', (route) => void held.push(route));
    const ended = other.waitForEvent('requestfailed');
    await row(other, 'traefik').getByRole('button', { name: 'Update traefik' }).click();
    await expect.poll(() => held.length).toBe(1);
    await other.keyboard.press('Escape');
    expect((await ended).url()).toBe(held[0]?.request().url());
    await row(other, 'traefik').getByRole('button', { name: 'Update traefik' }).click();
    await other.getByText('Working out the plan…').waitFor();
    await expect.poll(() => held.length).toBe(2);
    await held[1]?.continue();
    await other.locator('#confirm .plan').waitFor();
    await other.close();
  });

  test('the dialog begins the update, and the row tells its end', async () => {
    await row(page, 'traefik').getByRole('button', { name: 'Update traefik' }).click();
    await page.locator('#confirm').getByRole('button', { name: 'Update', exact: true }).click();
    await row(page, 'traefik')
      .getByText(/^Updated just now/)
      .waitFor();
    expect(await row(page, 'traefik').locator('.c-version').textContent()).toBe('3.2.1');
  });

  test('several that were selected are one plan', async () => {
    for (const name of ['immich-server', 'vaultwarden']) await row(page, name).locator('input').check();
    await page.locator('#bulk').getByRole('button', { name: 'Update 2…' }).click();
    await page.locator('#confirm .plan li').nth(2).waitFor();
    // The name stands beside the number of its step.
    const tops = await page
      .locator('#confirm .plan li')
      .evaluateAll((steps) =>
        steps.map((one) => one.querySelector('.who')!.getBoundingClientRect().top - one.getBoundingClientRect().top),
      );
    expect(Math.max(...tops)).toBeLessThan(16);
    expect(await page.locator('#confirm .plan .who').allTextContents()).toEqual(
      expect.arrayContaining(['Pull 2 images', 'immich-server', 'vaultwarden']),
    );
    await page.keyboard.press('Escape');
    await page.keyboard.press('Escape');
  });

  test('the plan tells which data an update copies, and how large they were the last time', async () => {
    const change = async (route: Route, more: object) => {
      const response = await route.fetch();
      const json = (await response.json()) as { readonly plan?: object[]; readonly containers?: object[] };
      for (const one of [...(json.plan ?? []), ...(json.containers ?? [])])
        if ('name' in one && one.name === 'vaultwarden') Object.assign(one, more);
      await route.fulfill({ response, json });
    };
    const data = { saved: ['/data', '/config'], not_saved: [{ path: '/tmp', reason: 'it is a tmpfs' }] };
    const last = { outcome: 'updated', at: '2026-01-01T00:00:00Z', reason: '', run_id: 'run', data: { bytes: 4.2e8 } };
    const other = await stage.open();
    await other.addInitScript(withoutSharedWorker);
    await other.route('**/v1/update?dry_run=true*', (route) => change(route, { data }));
    const planOf = async () => {
      await row(other, 'vaultwarden').getByRole('button', { name: 'Update vaultwarden' }).click();
      const text = await other.locator('#confirm .plan').textContent();
      await other.keyboard.press('Escape');
      return text;
    };
    expect(await planOf()).toContain('Its data is copied: /data and /config; not /tmp (it is a tmpfs)');
    await other.route('**/v1/containers/details*', (route) => change(route, { last }));
    await other.reload();
    expect(await planOf()).toMatch(/Its data is copied: \/data and \/config \(420\sMB last time\); not \/tmp/);
    await other.close();
  });

  test('a release that failed can be tried again, and its log is there', async () => {
    await stage.service.ask('/v1/update?container=grafana', { method: 'POST' });
    await row(page, 'grafana')
      .getByText(/^Failed; back on/)
      .waitFor();
    await row(page, 'grafana').getByRole('button', { name: 'See why grafana' }).click();
    await page.locator('#drawer .log', { hasText: 'UNIQUE constraint failed' }).waitFor();
    // The same release, repaired.
    publishNewer(
      stage.service,
      few.filter(({ name }) => name === 'grafana'),
    );
    await page
      .locator('#drawer')
      .getByRole('button', { name: /^Try 11\.3\.0 again/ })
      .click();
    await page.locator('#confirm').getByRole('button', { name: 'Try again' }).click();
    await row(page, 'grafana')
      .getByText(/^Failed; back on|Waits for its turn|pull/)
      .first()
      .waitFor();
    await page.keyboard.press('Escape');
  });

  test('another attempt is named after the version of its plan', async () => {
    await stage.service.ask('/v1/update?container=home-assistant', { method: 'POST' });
    await row(page, 'home-assistant').getByRole('button', { name: 'See why home-assistant' }).click();
    const again = page.locator('#drawer').getByRole('button', { name: 'Try 2024.11.3 again…' });
    await again.click();
    await page.locator('#confirm .plan').waitFor();
    expect(await page.locator('#confirm h2').textContent()).toBe('Try 2024.11.3 of home-assistant again?');
    await page.keyboard.press('Escape');
    publishNewer(
      stage.service,
      few.filter(({ name }) => name === 'home-assistant').map((one) => ({ ...one, newer: '2024.11.4' })),
    );
    await again.click();
    await page.locator('#confirm .plan').waitFor();
    expect(await page.locator('#confirm h2').textContent()).toBe('Update home-assistant to 2024.11.4?');
    await page.locator('#confirm').getByRole('button', { name: 'Update', exact: true }).waitFor();
    await page.keyboard.press('Escape');
    await page.keyboard.press('Escape');
  });

  test('an update can be rolled back', async () => {
    await row(page, 'traefik').locator('.c-name a').click();
    await page.locator('#drawer').getByRole('button', { name: 'Roll back to 3.2.0…' }).click();
    expect(await page.locator('#confirm .promise').textContent()).toContain('stays changed');
    const done = page.getByText('Done: 1 went back.').waitFor();
    await page.locator('#confirm').getByRole('button', { name: 'Roll back', exact: true }).click();
    await done;
    await row(page, 'traefik').locator('.c-version', { hasText: '3.2.0' }).waitFor();
    await page.keyboard.press('Escape');
  });

  test('Check asks the registry again, and says what it found', async () => {
    await row(page, 'loki').locator('.c-name a').click();
    await page.locator('#drawer').getByRole('button', { name: 'Check', exact: true }).click();
    await page.getByText('Checked: nothing to update.').waitFor();
  });

  test('the console has nothing to say', () => expect(page.complaints).toEqual([]));
});

describeInBrowser('the page of a compose file that is shipped', () => {
  const root = fileURLToPath(new URL('../../', import.meta.url));
  const textOf = (path: string) => readFileSync(join(root, path), 'utf8');
  const [, groupsSection = ''] = textOf('docs/dashboard.md').split('## Groups\n');
  const buttons = [...groupsSection.matchAll(/\*\*(.+?)…?\*\*/g)].map(([, name = '']) => name);
  const examples = readdirSync(join(root, 'examples'), { recursive: true, encoding: 'utf8' })
    .filter((path) => path.endsWith('compose.yaml'))
    .map((path) => `examples/${path}`);
  const withPage = ['compose.yaml', ...examples].flatMap((path) => {
    const { services } = parse(textOf(path)) as ComposeFile;
    const { UPKEEP_HTTP_API_ENDPOINTS: given = '' } = services['upkeep']?.environment ?? {};
    const groups = endpointGroups.filter((name) => given.split(',').includes(name));
    return groups.includes('dashboard') ? [[path, groups] as const] : [];
  });

  test('is in the one of the README, and in the example with Caddy', () => {
    expect(withPage.map(([path]) => path)).toEqual(['compose.yaml', 'examples/caddy/compose.yaml']);
    expect(buttons).toEqual(['Check', 'Update', 'Try again', 'Roll back', 'Approve', 'Skip', 'Snooze']);
  });

  test.each(withPage)('%s: is Live, and has each button that docs/dashboard.md names', async (_, groups) => {
    const names = ['grafana', 'traefik', 'vaultwarden', 'nextcloud'];
    const stage = await startStage(
      home.filter(({ name }) => names.includes(name)),
      { settings: { groups }, service: { healthWindowMs: 300, healthTimeoutMs: 3000 } },
    );
    onTestFinished(() => stage.close());
    await stage.service.application.update({ containers: ['grafana', 'traefik'], images: [], trigger: 'http' });
    await stage.service.application.check({ containers: [], images: [], trigger: 'http' });
    const page = await stage.open();
    await page.locator('#live', { hasText: 'Live' }).waitFor();
    const seen: string[] = [];
    for (const name of names) {
      await row(page, name).locator('.c-name a').click();
      await drawerOf(page, name).waitFor();
      seen.push(...(await page.getByRole('button').allTextContents()));
      await page.keyboard.press('Escape');
    }
    const missing = buttons.filter((button) => {
      const text = new RegExp(`^${button.replace(' again', '.* again')}`);
      return !seen.some((each) => text.test(each.trim()));
    });
    expect(missing).toEqual([]);
    expect(page.complaints).toEqual([]);
  });
});

type ComposeFile = {
  readonly services: Readonly<Record<string, { readonly environment?: Readonly<Record<string, string>> }>>;
};

function running({ service }: Stage): unknown {
  return Object.keys(service.sandbox.control.snapshot().containers).toSorted();
}
