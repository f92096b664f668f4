import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { describeInLab } from '../lab/describe-in-lab.ts';
import type { LabEngine } from '../lab/engine/engine.ts';
import { isPodman } from '../lab/engine/podman.ts';
import { catalogue } from '../lab/registry/catalogue.ts';
import { dataApp, dataFolders, describeData, provideDataHelper } from '../support/scene/data-app.ts';
import { upkeepScene } from '../support/scene/upkeep-scene.ts';
import { effectsScene } from './effects/scene.ts';

/** https://docs.docker.com/engine/security/userns-remap/ */
describeInLab('data on an engine that remaps users', (lab) => {
  let engine: LabEngine;

  beforeAll(async () => {
    if (isPodman) return;
    for (const file of ['/etc/subuid', '/etc/subgid']) {
      const own = join(lab.dir, file.replaceAll('/', '-'));
      writeFileSync(own, 'root:165536:65536\n');
      // Only this lab sees what is in it.
      if (!existsSync(file)) writeFileSync(file, '');
      execFileSync('mount', ['--bind', own, file]);
    }
    engine = await lab.startEngine({ name: 'remapped', args: ['--userns-remap', 'root'] });
  });
  afterAll(async () => {
    if (isPodman) return;
    await engine.remove();
    for (const file of ['/etc/subuid', '/etc/subgid']) execFileSync('umount', [file]);
  });

  test.skipIf(isPodman).each([
    ['whose root is nobody on the host', undefined, 165_536],
    ['with the users of the host', 'host', 0],
  ])('of a container %s comes back as it was', async (_title, usernsMode, owner) => {
    const scene = effectsScene({ ...lab, engine }, `remapped-${usernsMode ?? 'own'}`);
    const { binds } = dataFolders(join(lab.dir, `remapped-${usernsMode ?? 'own'}`));
    const outside = binds.slice(1).map((bind) => bind.split(':')[0] ?? '');
    execFileSync('chmod', ['777', ...outside]);
    const helper = await provideDataHelper(engine, lab.registry.host, catalogue['data-helper']);
    const container = await scene.stale('web', {
      old: dataApp['small-v1'],
      next: dataApp['small-bad'],
      config: {
        Labels: { 'upkeep.data': 'volumes' },
        HostConfig: { Binds: ['kept:/data', ...binds.slice(1)], ...(usernsMode && { UsernsMode: usernsMode }) },
      },
    });
    const place = String(container.Mounts.find(({ Destination }) => Destination === '/data')?.['Source']);
    await expect
      .poll(() => existsSync(join(place, 'tokens')) && readFileSync(join(place, 'tokens'), 'utf8'))
      .toBeTruthy();
    execFileSync('sh', [
      '-c',
      'mknod "$1/null" c 1 3 && : >"$1/own" && chown "$2" "$1/own" && chmod 600 "$1/own"',
      'sh',
      place,
      String(owner),
    ]);
    const before = describeData(container);
    const upkeep = upkeepScene({ socket: engine.socket });
    const { outcomes } = await upkeep.update('--data-image', helper, '--health-window', '10s');
    expect(outcomes['web']).toMatchObject({ outcome: 'rolled_back' });
    expect(describeData((await engine.inspect('web')) ?? container)).toBe(before);
    await engine.clear();
  });
});
