import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, expect, onTestFinished, test } from 'vitest';
import { describeInLab } from '../lab/describe-in-lab.ts';
import type { Inspected } from '../lab/engine/engine-client.ts';
import { imageIdOf } from '../lab/engine/image-id.ts';
import { httpRequest } from '../lab/http.ts';
import { startReceiver } from '../support/notify/receiver.ts';
import { logOf, type StartOptions, startInContainer, upkeepImage } from '../support/scene/upkeep-in-a-container.ts';

/** Upkeep in a container of a real engine, with a newer version of its own image. */
describeInLab('an update of its own container', (lab) => {
  const { engine } = lab;
  afterEach(() => engine.clear());

  const start = (next: ReturnType<typeof upkeepImage>, more: Pick<StartOptions, 'env' | 'labels' | 'files'> = {}) =>
    startInContainer(lab, engine, { socket: engine.socket, next, repository: 'self/upkeep', ...more });

  async function waitForLine(line: string): Promise<void> {
    for (let tries = 0; tries < 1000; tries += 1) {
      if ((await logOf(engine, 'upkeep')).includes(line)) return;
      await sleep(100);
    }
    throw new Error(`"${line}" was not logged: ${await logOf(engine, 'upkeep')}`);
  }

  async function names(): Promise<string[]> {
    const { body } = await engine.call('GET', '/containers/json?all=1');
    return (body as { Names: string[] }[]).map(({ Names }) => (Names[0] ?? '').slice(1)).sort();
  }

  const settings = ({ HostConfig, Config, Mounts }: Inspected) => ({
    policy: HostConfig.RestartPolicy,
    binds: HostConfig['Binds'],
    network: HostConfig['NetworkMode'],
    command: Config['Cmd'],
    kept: (Config['Env'] as string[]).filter((line) => !line.startsWith('APP_VERSION=')).sort(),
    label: Config.Labels['com.example.kept'],
    volumes: Mounts.map(({ Name }) => String(Name)).sort(),
  });

  test('failure 31: a helper puts the new version in its place, with the same settings, and is gone', async () => {
    const { id, next } = await start(upkeepImage('v2'));
    const before = (await engine.inspect(id))!;
    await waitForLine('Upkeep itself was updated from v1 to v2');
    const after = (await engine.inspect('upkeep'))!;
    expect(after.Image).toBe(imageIdOf(next));
    expect(after.State.Running).toBe(true);
    expect(settings(after)).toEqual(settings(before));
    expect(await names()).toEqual(['upkeep']);
  });

  test('set-up files that compose wrote: its own secrets are in the new version, and in the helper', async () => {
    const mtime = Math.floor(Date.now() / 1000);
    const files = [
      { path: 'run/secrets/upkeep_token', content: 'secret-token', mode: 0o400, mtime },
      { path: 'etc/upkeep/note', content: 'kept', mode: 0o644, mtime },
    ];
    const env = ['UPKEEP_HTTP_API_TOKEN=/run/secrets/upkeep_token', 'UPKEEP_HTTP_API_PORT=18999'];
    const { next } = await start(upkeepImage('v2'), { env, files });
    await waitForLine('Upkeep itself was updated from v1 to v2');
    expect((await engine.inspect('upkeep'))!.Image).toBe(imageIdOf(next));
    for (const { path, content } of files) {
      const url = `http://engine/containers/upkeep/archive?path=/${path}`;
      const { status, body } = await httpRequest({ socketPath: engine.socket, url });
      expect([path, status, body.includes(content)]).toEqual([path, 200, true]);
    }
    expect(await names()).toEqual(['upkeep']);
  });

  test('failure 31: a new version that ends at once gives way to the old one, which tells and does not try again', async () => {
    const { id } = await start(upkeepImage('v2', { Entrypoint: ['sh', '-c', 'echo broken >&2; exit 3'] }));
    const before = (await engine.inspect(id))!;
    await waitForLine('Upkeep itself was not updated from v1 to v2');
    const after = (await engine.inspect('upkeep'))!;
    expect(after.Id).toBe(id);
    expect(after.State.Running).toBe(true);
    expect(settings(after)).toEqual(settings(before));
    expect(await names()).toEqual(['upkeep']);
    const log = await logOf(engine, 'upkeep');
    expect(log).toContain('broken');
    await waitForLine('will not retry it');
  });

  test('is told of by the new version, to those whom the label of its container names', async () => {
    const [ops, family] = await Promise.all([startReceiver(), startReceiver()]);
    onTestFinished(async () => void (await Promise.all([ops.close(), family.close()])));
    await start(upkeepImage('v2'), {
      env: [`UPKEEP_NOTIFICATION_URL=ops=${ops.url} family=${family.url}`, 'UPKEEP_NO_STARTUP_MESSAGE=true'],
      labels: { 'upkeep.notify': 'ops' },
    });
    await waitForLine('Upkeep itself was updated from v1 to v2');
    const said = () =>
      ops
        .taken()
        .map(({ text }) => text)
        .filter((text) => text.startsWith('Of earlier updates'));
    for (let tries = 0; said().length === 0 && tries < 200; tries += 1) await sleep(50);
    expect(said()).toEqual([
      expect.stringMatching(/^Of earlier updates: 1 finished\n\n- .*upkeep.*Upkeep itself was updated from v1 to v2/),
    ]);
    expect(family.taken().map(({ text }) => text)).toEqual([]);
  });
});
