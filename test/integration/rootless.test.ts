import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { describeInLab } from '../lab/describe-in-lab.ts';
import type { LabEngine } from '../lab/engine/engine.ts';
import { isPodman } from '../lab/engine/podman.ts';
import { catalogue } from '../lab/registry/catalogue.ts';
import type { LabRegistry } from '../lab/registry/registry.ts';
import { dataApp, dataFolders, describeData, provideDataHelper } from '../support/scene/data-app.ts';
import { upkeepScene } from '../support/scene/upkeep-scene.ts';
import { effectsScene } from './effects/scene.ts';

/** From the network of dockerd, the host's 127.0.0.1 has this address. Podman pulls from the host itself. */
const host = isPodman ? '127.0.0.1' : '10.0.2.2';

/**
 * An engine of an ordinary user: https://docs.docker.com/engine/security/rootless/ Podman 5 of the lab has a root of its
 * own, which only root may enter.
 */
describeInLab('a rootless engine', (lab) => {
  const isPossible = process.env['LAB_PODMAN_ROOT'] === undefined || process.env['LAB_PODMAN_ROOT'] === '';
  let engine: LabEngine;
  let registry: LabRegistry;
  const scene = () => effectsScene({ ...lab, engine, registry }, 'rootless');
  const upkeep = () => upkeepScene({ socket: engine.socket });

  beforeAll(async () => {
    if (!isPossible) return;
    // Only this lab sees these mounts.
    for (const file of ['/etc/subuid', '/etc/subgid']) {
      const own = join(lab.dir, `rootless${file.replaceAll('/', '-')}`);
      writeFileSync(own, 'nobody:231072:65536\n');
      if (!existsSync(file)) writeFileSync(file, '');
      execFileSync('mount', ['--bind', own, file]);
    }
    mkdirSync('/dev/net', { recursive: true });
    execFileSync('mount', ['-t', 'tmpfs', 'tmpfs', '/dev/net']);
    execFileSync('mknod', ['--mode', '666', '/dev/net/tun', 'c', '10', '200']);
    if (!isPodman) execFileSync('ip', ['addr', 'add', `${host}/32`, 'dev', 'lo']);
    const started = await lab.startRegistry({ address: '0.0.0.0' });
    registry = { ...started, host: `${host}:${new URL(started.url).port}` };
    execFileSync('chmod', ['711', lab.dir]);
    const folder = join(lab.dir, 'rootless');
    const asNobody = 'chown -R nobody "$1" && shift && exec setpriv --reuid 65534 --regid 65534 --clear-groups "$@"';
    const startedBy = ['sh', '-c', asNobody, 'sh', folder] as const;
    // The folders of the lab's first engine are root's.
    const inKit = ['sh', '-c', 'rm /run/docker /run/containerd && exec "$0" "$@"'];
    const kit = ['rootlesskit', '--net=slirp4netns', '--port-driver=builtin', '--copy-up=/etc', '--copy-up=/run'];
    engine = await lab.startEngine(
      isPodman
        ? { name: 'rootless', startedBy }
        : {
            name: 'rootless',
            beside: false,
            env: { XDG_RUNTIME_DIR: folder, HOME: folder },
            startedBy: [...startedBy, ...kit, '--state-dir', join(folder, 'kit'), ...inKit],
            args: ['--rootless', '--storage-driver', 'vfs', '--insecure-registry', `${host}/32`],
          },
    );
  });
  afterEach(() => engine?.clear());
  afterAll(async () => {
    if (!isPossible) return;
    await engine?.remove();
    await registry?.remove();
    if (!isPodman) execFileSync('ip', ['addr', 'del', `${host}/32`, 'dev', 'lo']);
    for (const place of ['/dev/net', '/etc/subuid', '/etc/subgid']) execFileSync('umount', [place]);
  });

  test.runIf(isPossible)('gets new versions, and the old one back when the new one fails', async () => {
    const { stale, inspect } = scene();
    const config = { HostConfig: { RestartPolicy: { Name: 'unless-stopped' } } };
    const good = await stale('good', { config });
    const bad = await stale('bad', { config, next: catalogue['crash'] });
    const { outcomes } = await upkeep().update();
    expect(outcomes).toMatchObject({ good: { outcome: 'updated' }, bad: { outcome: 'rolled_back' } });
    expect((await inspect('good')).Id).not.toBe(good.Id);
    expect(await inspect('bad')).toMatchObject({ Id: bad.Id, State: { Running: true } });
  });

  test.runIf(isPossible)('leaves a container whose probe cannot be reached from here, and says why', async () => {
    const { stale, inspect } = scene();
    const before = await stale('probed', { config: { Labels: { 'upkeep.health-probe': 'http://:8080/' } } });
    const { outcomes } = await upkeep().update();
    expect(outcomes['probed']?.reason).toContain('the engine is rootless, and its networks are not those of this host');
    expect((await inspect('probed')).Id).toBe(before.Id);
  });

  test.runIf(isPossible)('has the data of a volume as they were after a version that fails', async () => {
    const helper = await provideDataHelper(engine, registry.host, catalogue['data-helper']);
    const { binds } = dataFolders(join(lab.dir, 'rootless-data'));
    for (const bind of binds.slice(1)) execFileSync('chmod', ['777', bind.split(':')[0] ?? '']);
    const container = await scene().stale('web', {
      old: dataApp['small-v1'],
      next: dataApp['small-bad'],
      config: {
        Labels: { 'upkeep.data': 'volumes' },
        HostConfig: { Binds: ['kept:/data', ...binds.slice(1)] },
      },
    });
    const place = String(container.Mounts.find(({ Destination }) => Destination === '/data')?.['Source']);
    await expect
      .poll(() => existsSync(join(place, 'tokens')) && readFileSync(join(place, 'tokens'), 'utf8'))
      .toBeTruthy();
    const before = describeData(container);
    const { outcomes } = await upkeep().update('--data-image', helper, '--health-window', '10s');
    expect(outcomes['web']).toMatchObject({ outcome: 'rolled_back' });
    expect(describeData((await engine.inspect('web')) ?? container)).toBe(before);
  });
});
