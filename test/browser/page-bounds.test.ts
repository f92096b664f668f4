import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { ShownOption } from '../../src/config/show/shown-configuration.ts';
import type { ContainerOutcome } from '../../src/domain/run/session.ts';
import { buildPage } from '../support/pages/built-page.ts';
import { startHttp } from '../support/http/http-scene.ts';
import {
  createScriptedService,
  historyEntry,
  type ScriptedService,
  watchedContainer,
} from '../support/http/scripted-service.ts';
import { describeInBrowser, openBrowser } from './browser.ts';
import type { HomeContainer } from './home.ts';
import { openPage, row, type Stage, startStage } from './stage.ts';

const roles = ['web', 'api', 'worker', 'db', 'cache'];
const many: readonly HomeContainer[] = Array.from({ length: 500 }, (_, place) => {
  const project = `tenant-${String(Math.floor(place / 5) + 1).padStart(3, '0')}`;
  const role = roles[place % 5] ?? '';
  return {
    project,
    name: `${project}-${role}`,
    image: `registry.example.net/${role}:stable`,
    version: '1.0',
    plain: true,
  };
});

describeInBrowser('the page with 500 containers', () => {
  let stage: Stage;
  beforeAll(async () => {
    stage = await startStage(many);
    stage.service.publish('registry.example.net/api:stable', '2');
    await stage.service.ask('/v1/check', { method: 'POST' });
  });
  afterAll(() => stage.close());

  test('shows all of them after each filter, and prints the time of both', async () => {
    const page = await stage.open();
    expect(await page.locator('tr.row').count()).toBe(many.length);
    const rows = await page.evaluate<number>(`performance.getEntriesByName('rows')[0].duration`);
    const filters: number[] = [];
    for (const text of ['tenant-0', 'api', '', 'tenant-042', '', 'web', '']) {
      filters.push(
        await page.evaluate<number>(`(() => {
          const search = document.getElementById('search');
          search.value = ${JSON.stringify(text)};
          const from = performance.now();
          search.dispatchEvent(new Event('input'));
          return performance.now() - from;
        })()`),
      );
    }
    const median = filters.toSorted((one, other) => one - other)[3] ?? 0;
    console.log(
      `500 containers: rows ${rows.toFixed(0)} ms, filter ${median.toFixed(1)} ms (median of ${filters.length})`,
    );
    expect(await page.locator('tr.row').count()).toBe(many.length);
    expect(page.complaints).toEqual([]);
    await page.close();
  });
});

describeInBrowser('the page that is open all day', () => {
  test('10,000 events leave nothing behind', async () => {
    const service = createScriptedService();
    const names = Array.from({ length: 250 }, (_, place) => `container-${place}`);
    service.script.inventory = { revision: 2, containers: names.map((name) => watchedContainer(name)), images: [] };
    const scripted = await startScripted(service);
    const { page } = scripted;
    await page.locator('#live[data-state="live"]').waitFor();
    const client = await page.context().newCDPSession(page);
    await send(2000);
    const before = await heap();
    await send(10_000);
    const grown = (await heap()) - before;
    console.log(`10,000 events: ${(grown / 1e6).toFixed(2)} MB`);
    expect(grown).toBeLessThan(5_000_000);
    await scripted.close();

    async function heap(): Promise<number> {
      for (let times = 0; times < 3; times += 1) await client.send('HeapProfiler.collectGarbage');
      return (await client.send('Runtime.getHeapUsage')).usedSize;
    }

    async function send(count: number): Promise<void> {
      for (let sent = 0; sent < count; sent += 500) {
        for (const name of names) {
          const common = { runId: 'r', container: name, image: name };
          service.announce({ kind: 'update_started', ...common, from: 'a', to: 'b', atMs: Date.now() });
          service.announce({
            kind: 'update_completed',
            runId: 'r',
            outcome: outcomeOf(name, 'updated', ''),
            atMs: Date.now(),
          });
        }
        // The page processes the sent events before the next ones.
        const marker = `marker ${sent} of ${count}`;
        service.announce({
          kind: 'update_failed',
          runId: 'r',
          outcome: outcomeOf(names[0] ?? '', 'failed', marker),
          atMs: Date.now(),
        });
        await page.locator('#announcer', { hasText: marker }).waitFor({ state: 'attached' });
      }
    }
  });
});

describeInBrowser('the page during an update', () => {
  test('tells its end, and no end of a check beside it', async () => {
    const service = createScriptedService();
    service.script.inventory = { revision: 2, containers: [watchedContainer('web')], images: [] };
    const scripted = await startScripted(service);
    const { page } = scripted;
    await page.locator('#live[data-state="live"]').waitFor();
    const now = Date.now();
    const counts = { scanned: 1, updated: 0, failed: 0, restarted: 0, skipped: 0, session: undefined, atMs: now };
    const update = { runId: 'update', purpose: 'update' } as const;
    const check = { runId: 'check', purpose: 'check' } as const;
    const web = { runId: 'update', container: 'web', image: 'web:1', from: 'a', to: 'b' };
    service.announce({ kind: 'scan_started', ...update, trigger: 'http', atMs: now });
    service.announce({ kind: 'update_started', ...web, atMs: now });
    service.announce({ kind: 'scan_started', ...check, trigger: 'http', atMs: now });
    service.announce({ kind: 'phase_entered', runId: 'update', container: 'web', phase: 'stopping' });
    const notices: string[] = [];
    await page.exposeFunction('heard', (text: string) => notices.push(text));
    await page.evaluate(
      `new MutationObserver(() => heard(document.getElementById('notice').textContent)).observe(document.getElementById('notice'), { childList: true })`,
    );
    service.announce({ kind: 'scan_completed', ...check, ...counts });
    service.announce({
      kind: 'update_completed',
      runId: 'update',
      outcome: outcomeOf('web', 'updated', ''),
      atMs: now,
    });
    service.announce({ kind: 'scan_completed', ...update, ...counts, updated: 1 });
    await page.getByText('Done: 1 updated.').waitFor();
    expect(notices).toEqual(['Done: 1 updated.']);
    service.announce({ kind: 'scan_failed', ...check, error: 'Cannot list containers', atMs: now });
    await page.getByText('The check failed: Cannot list containers.').waitFor();
    await scripted.close();
  });
});

describeInBrowser('the files of the page', () => {
  test('the script is within 60 kB compressed', async () => {
    const stage = await startStage([]);
    const bytes = gzipSync(readFileSync(join(stage.folder, 'page.js'))).length;
    console.log(`script: ${(bytes / 1000).toFixed(1)} kB compressed`);
    expect(bytes).toBeLessThan(60_000);
    await stage.close();
  });
});

const markup = `<img src=x onerror="globalThis.hacked=1"><script>globalThis.hacked=1</script>`;
const hostile = `${markup}"'\`\${7*7}{{7*7}}\u202Egnp.exe\u0000 https://example.com/\uD800`;

describeInBrowser('hostile text', () => {
  test('shows as text in every field of every view', async () => {
    const service = createScriptedService();
    const parts = {
      image: hostile,
      imageId: hostile,
      digest: hostile,
      latestDigest: hostile,
      reason: hostile,
      stale: true,
      updateAvailable: true,
      checkedAtMs: Date.now(),
      dependsOn: [hostile],
      scope: hostile,
      labelsInEffect: { 'com.docker.compose.project': hostile, [hostile]: hostile },
      settings: [{ name: hostile, value: hostile, source: hostile }],
    };
    service.script.inventory = {
      revision: 2,
      containers: [watchedContainer(hostile, parts), watchedContainer('victim', parts)],
      images: [],
      unfinished: [{ name: `${hostile} unfinished`, image: hostile, state: 'repair pending', reason: hostile }],
    };
    service.script.history = [
      historyEntry(Date.now(), {
        runId: hostile,
        failed: 1,
        failures: [{ name: hostile, outcome: 'failed', reason: hostile }],
        containers: [outcomeOf(hostile, 'failed', hostile)],
      }),
    ];
    const option = { name: hostile, value: hostile, source: hostile, given: true, meaning: hostile };
    const scripted = await startScripted(service, [option]);
    const { page } = scripted;
    await page.locator('#live[data-state="live"]').waitFor();
    service.announce({
      kind: 'update_started',
      runId: hostile,
      container: 'victim',
      image: hostile,
      from: hostile,
      to: hostile,
      atMs: Date.now(),
    });
    for (const name of [hostile, 'victim', 'unheard of'])
      service.announce({
        kind: 'update_failed',
        runId: hostile,
        outcome: outcomeOf(name, 'failed', hostile),
        atMs: Date.now(),
      });
    await row(page, 'victim').getByText('Update failed').waitFor();
    expect(await row(page, 'victim').locator('.why').textContent()).toContain('<img src=x onerror=');
    // UTF-8 has no lone surrogates: the page is sent U+FFFD.
    const asSent = Buffer.from(hostile).toString();
    for (const name of [asSent, 'victim', `${asSent} unfinished`, 'nobody']) {
      await page.evaluate(`location.hash = '#/c/' + encodeURIComponent(${JSON.stringify(name)})`);
      await page.locator('#drawer-title', { hasText: name.slice(0, 12) }).waitFor();
    }
    await page.evaluate(`location.hash = '#/?q=' + encodeURIComponent(${JSON.stringify(`${asSent} no`)})`);
    await page.getByText('Nothing matches').waitFor();
    await page.evaluate(`location.hash = '#/?group=project'`);
    await page.getByRole('link', { name: 'History', exact: true }).click();
    await page.locator('.run-row').first().waitFor();
    await page.getByRole('link', { name: 'Settings', exact: true }).click();
    await page.locator('#options td').first().waitFor();
    expect(await page.evaluate('globalThis.hacked')).toBeUndefined();
    expect(await page.locator('body img, main script, aside script, dialog script').count()).toBe(0);
    expect(await page.locator('a[href^="javascript"]').count()).toBe(0);
    expect(scripted.complaints).toEqual([]);
    expect([...scripted.hosts]).toEqual([new URL(scripted.url).host]);
    await scripted.close();
  });
});

function outcomeOf(name: string, outcome: 'updated' | 'failed', reason: string): ContainerOutcome {
  const ids = { oldImageId: 'a', newImageId: 'b', oldDigest: '', newDigest: '' };
  return { name, image: name, outcome, reason, ...ids, downtimeMs: 900, log: reason };
}

/** The page with the HTTP interface; the test replaces the service. */
async function startScripted(service: ScriptedService, options: readonly ShownOption[] = []) {
  const built = buildPage();
  const scene = await startHttp(service, {
    dashboardFolder: built.folder,
    configuration: () => ({ config: noConfiguration, options }),
  });
  const browser = await openBrowser();
  const page = await openPage(browser.context, scene.url);
  return {
    page,
    url: scene.url,
    complaints: page.complaints,
    hosts: page.hosts,
    close: async () => {
      await browser.close();
      await scene.stop();
      built.remove();
    },
  };
}

const noConfiguration = {
  monitorOnly: false,
  cleanup: false,
  noPull: false,
  noRestart: false,
  rollingRestart: false,
  includeStopped: false,
  includeRestarting: false,
  lifecycleHooks: false,
  labelEnable: false,
  filterDescription: '',
  scope: '',
};
