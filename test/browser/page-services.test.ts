import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { describeInBrowser } from './browser.ts';
import { drawerOf, type OpenPage, row, type Stage, startStage } from './stage.ts';
import { violations } from './violations.ts';

const minuteNs = 60e9;
const service = 'shop_web (service)';

describeInBrowser('the page of a swarm', () => {
  let stage: Stage;
  let page: OpenPage;
  let id: string;
  beforeAll(async () => {
    stage = await startStage([{ name: 'shop_web', image: 'shop/web:0', version: '0', newer: '0.1' }], {
      swarmNodes: 3,
    });
    const { sandbox, publish, ask } = stage.service;
    const digest = publish('shop/web:1', '1');
    id = sandbox.swarmControl.create({
      Name: 'shop_web',
      Mode: { Replicated: { Replicas: 4 } },
      // So the update is paused with one task of four, until a person resumes it.
      UpdateConfig: { Parallelism: 1, Delay: 10 * minuteNs, FailureAction: 'pause', Order: 'stop-first' },
      TaskTemplate: { ContainerSpec: { Image: `shop/web:1@${digest}` } },
    });
    const inTime = { timeout: 20_000 };
    await vi.waitFor(async () => {
      const tasks = await sandbox.swarm.tasks([id]);
      expect(tasks.filter(({ state }) => state === 'running')).toHaveLength(4);
    }, inTime);
    await vi.waitFor(async () => expect((await ask('/v1/containers/details')).text).toContain(id), inTime);
    publish('shop/web:1', '2');
    await ask('/v1/check', { method: 'POST' });
    page = await stage.open();
    await page.locator('#live[data-state="live"]').waitFor();
  });
  afterAll(() => stage.close());

  test('counts the tasks of a service in its row while they start, also where it is opened in the middle', async () => {
    await row(page, service).getByText('Update ready').waitFor();
    const update = stage.service.ask('/v1/update?image=shop/web:1', { method: 'POST' });
    await expect.poll(() => row(page, service).innerText(), { timeout: 30_000 }).toContain('Starting, 1 of 4 tasks');
    expect(await row(page, service).locator('.steps').count()).toBe(0);
    expect(await row(page, 'shop_web').innerText()).toContain('Update ready');
    const second = await stage.open({ width: 390 });
    await row(second, service).getByText('Starting, 1 of 4 tasks').waitFor();
    expect(await row(second, 'shop_web').locator('.steps').count()).toBe(0);
    expect(await violations(second)).toEqual([]);
    await second.close();
    await row(page, service).getByRole('link', { name: 'shop_web' }).click();
    await page.locator('#drawer').getByText('Swarm replaces its tasks.').waitFor();
    await drawerOf(page, service).waitFor();

    stage.service.sandbox.swarmControl.update(id, (spec) => (spec.Labels = { theirs: 'yes' }));
    await row(page, service)
      .getByText(/of 4 tasks/)
      .waitFor({ state: 'detached' });
    await update;
    expect(page.complaints).toEqual([]);
  });
});
