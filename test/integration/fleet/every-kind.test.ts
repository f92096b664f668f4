import { mkdtempSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { describeInLab } from '../../lab/describe-in-lab.ts';
import type { EngineClient } from '../../lab/engine/engine-client.ts';
import { hasPodman, isPodman, startPodman } from '../../lab/engine/podman.ts';
import { startSshServer } from '../../lab/engine/ssh-server.ts';
import { catalogue } from '../../lab/registry/catalogue.ts';
import { pushImage } from '../../lab/registry/push.ts';
import { skipBecause } from '../../lab/skip-because.ts';
import { dataOf, followEvents } from '../../support/http/event-reader.ts';
import { addContext } from '../../support/scene/docker-context.ts';
import { serveFleet } from '../../support/scene/serve-fleet.ts';

type Entry = {
  readonly name: string;
  readonly engine: string;
  readonly status?: string;
  readonly outcome?: string;
};
type Reply = { readonly containers: readonly Entry[] };
type History = { readonly entries: readonly (Reply & { readonly updated: number; readonly rolled_back: number })[] };

/** One service, with an engine for every kind of connection. */
describeInLab('engines of every kind', (lab) => {
  const { registry } = lab;
  const kinds = ['podman', 'socket', 'ssh', 'tls'];

  async function release(name: string, spec: (typeof catalogue)['plain-v1']): Promise<string> {
    const { digest } = await pushImage(registry, `kinds/${name}`, '1', spec);
    return digest;
  }

  /** One container with a good next version, and one with a bad one. */
  async function fill(engine: EngineClient): Promise<void> {
    for (const name of ['web', 'bad']) {
      const image = `${registry.host}/kinds/${name}:1`;
      await engine.pull(image);
      await engine.run(name, image, { StopTimeout: 1, HostConfig: { RestartPolicy: { Name: 'always' } } });
    }
  }

  test('are checked, updated, rolled back and told of by one service', async (context) => {
    if (isPodman) skipBecause(context, 'Podman’s service speaks no TLS');
    if (!hasPodman) skipBecause(context, 'Podman is not installed');
    const { caFile, serverCertificate, serverKey, dockerClient } = lab.pki;
    const certificates = ['--tlscacert', caFile, '--tlscert', serverCertificate, '--tlskey', serverKey];
    const tls = await lab.startEngine({
      name: 'kinds-tls',
      args: ['--host', 'tcp://127.0.0.1:23763', '--tlsverify', ...certificates],
    });
    onTestFinished(() => tls.remove());
    const behind = await lab.startEngine({ name: 'kinds-ssh' });
    onTestFinished(() => behind.remove());
    const podman = await startPodman(lab.dir, { name: 'kinds-podman' });
    onTestFinished(() => podman.remove());
    onTestFinished(() => lab.engine.clear());
    const far = await startSshServer(lab.dir, { DOCKER_HOST: `unix://${behind.socket}` });
    onTestFinished(() => far.stop());

    const old = { web: await release('web', catalogue['plain-v1']), bad: await release('bad', catalogue['plain-v1']) };
    for (const engine of [lab.engine, podman, behind, tls]) await fill(engine);
    const next = await release('web', catalogue['plain-v2']);
    await release('bad', catalogue['crash']);

    const DOCKER_CONFIG = mkdtempSync(join(lab.dir, 'docker-'));
    addContext(DOCKER_CONFIG, 'tls', 'tcp://127.0.0.1:23763', dockerClient);
    const upkeep = await serveFleet(
      [
        ...['--host', `socket=unix://${lab.engine.socket}`, '--host', `podman=unix://${podman.socket}`],
        ...['--host', `ssh=ssh://root@${far.host}`, '--context', 'tls'],
      ],
      { args: ['--health-window', '5s'], env: { HOME: '/root', DOCKER_CONFIG } },
    );
    await upkeep.lists(8);
    const events = await followEvents(upkeep.url);
    onTestFinished(() => events.end());

    const check = await upkeep.read<Reply>('/v1/check', 'POST');
    expect(told(check, 'status')).toEqual(kinds.flatMap((kind) => [`${kind}/bad stale`, `${kind}/web stale`]));

    const update = await upkeep.read<Reply>('/v1/update', 'POST');
    expect(told(update, 'outcome')).toEqual(
      kinds.flatMap((kind) => [`${kind}/bad rolled_back`, `${kind}/web updated`]),
    );

    const back = await upkeep.read<Reply>('/v1/rollback?container=web&engine=ssh', 'POST');
    expect(told(back, 'outcome')).toEqual(['ssh/web went_back']);
    for (const [kind, engine] of Object.entries({ socket: lab.engine, podman, ssh: behind, tls })) {
      expect(await digestOf(engine, 'web'), kind).toContain(kind === 'ssh' ? old.web : next);
      expect(await digestOf(engine, 'bad'), kind).toContain(old.bad);
    }

    const { entries } = await upkeep.read<History>('/v1/history');
    expect(entries).toMatchObject([{ updated: 4, rolled_back: 4 }, { went_back: 1 }]);
    expect(told(entries[0], 'outcome')).toEqual(told(update, 'outcome'));
    expect(told(entries[1], 'outcome')).toEqual(['ssh/web went_back']);

    const isEnd = (text: string) => text.split('event: scan_completed').length > 3;
    await events.until(isEnd);
    const frames = events.text().split('\n\n');
    for (const [type, count] of [
      ['update_completed', 5],
      ['update_failed', 4],
    ] as const) {
      const engines = frames
        .map((frame) => dataOf(frame) as { type?: string; data?: { engine?: string } } | null)
        .flatMap((event) => (event?.type === type ? (event.data?.engine ?? 'none') : []));
      expect(engines.toSorted(), type).toEqual([...kinds, ...(count === 5 ? ['ssh'] : [])].toSorted());
    }
  });

  async function digestOf(engine: EngineClient, name: string): Promise<string> {
    const container = await engine.inspect(name);
    expect(container?.State.Running).toBe(true);
    const { body } = await engine.call('GET', `/images/${container?.Image}/json`);
    return (body as { RepoDigests?: readonly string[] }).RepoDigests?.join(' ') ?? '';
  }
});

/** `engine/name status`, in order. */
function told(reply: Reply | undefined, field: 'status' | 'outcome'): readonly string[] {
  return (reply?.containers ?? []).map((entry) => `${entry.engine}/${entry.name} ${entry[field]}`).toSorted();
}
