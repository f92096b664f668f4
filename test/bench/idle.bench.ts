import { execFileSync } from 'node:child_process';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, onTestFinished, test } from 'vitest';
import { openBrowser } from '../browser/browser.ts';
import { openPage } from '../browser/stage.ts';
import { catalogue } from '../lab/registry/catalogue.ts';
import { describeInLab } from '../lab/describe-in-lab.ts';
import { pushImage } from '../lab/registry/push.ts';
import { apiToken, ask, eventsToken } from '../support/http/http-scene.ts';
import { cpuMsOf, ownMiBOf, residentMiBOf } from '../support/scene/process-use.ts';
import { startUpkeep, type UpkeepProcess } from '../support/scene/run-upkeep.ts';
import { imageNode } from './rig/image-node.ts';
import { median, reportRatio } from './rig/ratios.ts';

/**
 * The built service on Node 24, started as in its image, with a hundred containers of a real engine, all groups on, and
 * one page open in a browser. Run `npm run build` first.
 */
describeInLab('an idle service', (lab) => {
  const { engine, registry } = lab;
  const containers = 100;
  const idleMs = 60_000;
  const starts = 11;
  /** 200 ms until it is ready, on a machine on which Node starts within 40. */
  const most = { mebibytes: 60, ready: 5 };

  test('memory with a page open, and the time until it is ready', async () => {
    const inImage = imageNode();
    const image = `${registry.host}/bench/idle:stable`;
    await pushImage(registry, 'bench/idle', 'stable', catalogue['plain-v1']);
    await engine.pull(image);
    for (let number = 0; number < containers; number += 1) await engine.run(`web${number}`, image, { StopTimeout: 1 });

    const [ready, floor]: [number[], number[]] = [[], []];
    for (let run = 0; run < starts; run += 1) {
      floor.push(timeOf(() => execFileSync(inImage.node, ['-e', '0'])));
      const { service, readyMs } = await start(inImage);
      ready.push(readyMs);
      await stop(service);
    }
    reportRatio('until the service is ready on Node 24', median(ready), median(floor), most.ready);

    const { service, url } = await start(inImage);
    onTestFinished(() => stop(service));
    const browser = await openBrowser();
    onTestFinished(browser.close);
    const page = await openPage(browser.context, url);
    expect(await page.locator('tr.row').count()).toBe(containers);
    const cpuBefore = cpuMsOf(service);
    await sleep(idleMs);
    const cpu = ((cpuMsOf(service) - cpuBefore) / idleMs) * 100;
    const [all, own] = [residentMiBOf(service).toFixed(0), ownMiBOf(service).toFixed(0)];
    const rest = 'the rest is mostly the shared program file of Node';
    console.log(
      `an idle service with a page open: ${all} MiB resident (aim ${most.mebibytes}), ${own} of its own; ${rest}`,
    );
    console.log(`an idle service with a page open: ${cpu.toFixed(1)} % of a core (aim 1)`);
  });

  async function start(inImage: ReturnType<typeof imageNode>) {
    const port = 20_000 + (process.pid % 10_000);
    const args = ['run', '--http-api-endpoints', 'all', '--http-api-host', '127.0.0.1', '--http-api-port', `${port}`];
    const tokens = ['--http-api-token', apiToken, '--http-api-events-token', eventsToken];
    const begunAt = performance.now();
    const service = startUpkeep([...args, ...tokens], { socket: engine.socket, ...inImage });
    await answers(port);
    return { service, readyMs: performance.now() - begunAt, url: `http://127.0.0.1:${port}` };
  }
});

/** Asks without a pause between, because the time until the first answer is measured. */
async function answers(port: number): Promise<void> {
  for (const deadline = performance.now() + 30_000; performance.now() < deadline;)
    if (await isReady(port)) return;
    else await sleep(1);
  throw new Error('The service is not ready after 30 s');
}

function isReady(port: number): Promise<boolean> {
  return ask(`http://127.0.0.1:${port}`, '/readyz').then(
    ({ status }) => status === 200,
    () => false,
  );
}

async function stop({ child, ended }: UpkeepProcess): Promise<void> {
  child.kill('SIGTERM');
  await ended;
}

function timeOf(work: () => unknown): number {
  const begunAt = performance.now();
  work();
  return performance.now() - begunAt;
}
