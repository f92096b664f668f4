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

/** The user `nobody`, and the address at which its network reaches the host's 127.0.0.1. */
const [user, host] = ['65534', '10.0.2.2'];

/** dockerd as an ordinary user: https://docs.docker.com/engine/security/rootless/ */
describeInLab('a rootless engine', (lab) => {
  let engine: LabEngine;
  let registry: LabRegistry;
  const scene = () => effectsScene({ ...lab, engine, registry }, 'rootless');
  const upkeep = () => upkeepScene({ socket: engine.socket });

  beforeAll(async () => {
    if (isPodman) return;
    for (const file of ['/etc/subuid', '/etc/subgid']) {
      const own = join(lab.dir, `rootless${file.replaceAll('/', '-')}`);
      writeFileSync(own, 'nobody:231072:65536\n');
      // Only this lab sees what is in it.
      if (!existsSync(file)) writeFileSync(file, '');
      execFileSync('mount', ['--bind', own, file]);
    }
    mkdirSync('/dev/net', { recursive: true });
    execFileSync('mount', ['-t', 'tmpfs', 'tmpfs', '/dev/net']);
    execFileSync('mknod', ['--mode', '666', '/dev/net/tun', 'c', '10', '200']);
    execFileSync('ip', ['addr', 'add', `${host}/32`, 'dev', 'lo']);
    const started = await lab.startRegistry({ address: '0.0.0.0' });
    registry = { ...started, host: `${host}:${new URL(started.url).port}` };
    const folder = join(lab.dir, 'rootless');
    mkdirSync(join(folder, 'data'), { recursive: true });
    execFileSync('chmod', ['711', lab.dir]);
    execFileSync('chown', ['--recursive', `${user}:${user}`, folder]);
    engine = await lab.startEngine({
      name: 'rootless',
      beside: false,
      env: { XDG_RUNTIME_DIR: folder, HOME: folder },
      startedBy: [
        ...(['setpriv', '--reuid', user, '--regid', user, '--clear-groups'] as const),
        ...['rootlesskit', '--state-dir', join(folder, 'kit'), '--net=slirp4netns', '--port-driver=builtin'],
        // The folders of the lab's first engine are root's.
        ...['--copy-up=/etc', '--copy-up=/run', 'sh', '-c', 'rm /run/docker /run/containerd && exec "$0" "$@"'],
      ],
      args: ['--rootless', '--storage-driver', 'vfs', '--insecure-registry', `${host}/32`],
    });
  });
  afterEach(() => engine?.clear());
  afterAll(async () => {
    if (isPodman) return;
    await engine?.remove();
    await registry?.remove();
    execFileSync('ip', ['addr', 'del', `${host}/32`, 'dev', 'lo']);
    for (const place of ['/dev/net', '/etc/subuid', '/etc/subgid']) execFileSync('umount', [place]);
  });

  test.skipIf(isPodman)('gets new versions, and the old one back when the new one fails', async () => {
    const { stale, inspect } = scene();
    const config = { HostConfig: { RestartPolicy: { Name: 'unless-stopped' } } };
    const good = await stale('good', { config });
    const bad = await stale('bad', { config, next: catalogue['crash'] });
    const { outcomes } = await upkeep().update();
    expect(outcomes).toMatchObject({ good: { outcome: 'updated' }, bad: { outcome: 'rolled_back' } });
    expect((await inspect('good')).Id).not.toBe(good.Id);
    expect(await inspect('bad')).toMatchObject({ Id: bad.Id, State: { Running: true } });
  });

  test.skipIf(isPodman)('has the data of a volume as they were after a version that fails', async () => {
    const helper = await provideDataHelper(engine, registry.host, catalogue['data-helper']);
    const { binds } = dataFolders(join(lab.dir, 'rootless-data'));
    for (const bind of binds.slice(1)) execFileSync('chmod', ['777', bind.split(':')[0] ?? '']);
    const container = await scene().stale('web', {
      old: dataApp['small-v1'],
      next: dataApp['small-bad'],
      config: { Labels: { 'upkeep.data': 'volumes' }, HostConfig: { Binds: ['kept:/data', ...binds.slice(1)] } },
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
