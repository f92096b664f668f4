import { createServer, type Server } from 'node:net';
import { afterEach, expect, test } from 'vitest';
import { catalogue } from '../lab/registry/catalogue.ts';
import { describeInLab } from '../lab/describe-in-lab.ts';
import { pushImage } from '../lab/registry/push.ts';
import { runUpkeep } from '../support/scene/run-upkeep.ts';
import { median, reportRatio } from './rig/ratios.ts';

/** Duration of an update, from its report: without notification targets, and with twenty that never answer. */
describeInLab('an update and those who are told of it', (lab) => {
  const { engine, registry } = lab;
  const image = `${registry.host}/bench/told:stable`;
  const runs = 7;
  afterEach(() => engine.clear());

  test('in turn', async () => {
    const silent = await startSilent();
    try {
      const { port } = silent.address() as { port: number };
      const urls = Array.from({ length: 20 }, (_, index) => {
        // Half of the targets accept the connection and send nothing; the others do not exist.
        return `generic+http://127.0.0.1:${index % 2 === 0 ? port : 9}/hook-${index}`;
      });
      const [alone, told]: [number[], number[]] = [[], []];
      for (let run = 0; run < runs; run += 1) {
        alone.push(await updateMs([]));
        told.push(await updateMs(urls));
      }
      reportRatio('an update with 20 targets that never answer', median(told), median(alone), 1.05);
    } finally {
      silent.close();
    }
  });

  async function updateMs(urls: readonly string[]): Promise<number> {
    await engine.clear();
    await pushImage(registry, 'bench/told', 'stable', catalogue['plain-v1']);
    await engine.pull(image);
    await engine.run('web', image, { StopTimeout: 1 });
    await pushImage(registry, 'bench/told', 'stable', catalogue['plain-v2']);
    const args = ['run', '--run-once', '--health-window', '100ms', '--log-format', 'json'];
    const { stderr, code } = await runUpkeep(args, {
      socket: engine.socket,
      env: { UPKEEP_NOTIFICATION_URL: urls.join(' ') },
    });
    expect(code, stderr).toBe(0);
    const lines = stderr
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as { time: string; event?: string });
    const at = (event: string) => Date.parse(lines.find((line) => line.event === event)?.time ?? '');
    return at('scan_completed') - at('scan_started');
  }
});

function startSilent(): Promise<Server> {
  const server = createServer((socket) => socket.on('error', () => undefined));
  return new Promise((resolve) => {
    server.listen(0, '127.0.0.1', () => resolve(server));
  });
}
