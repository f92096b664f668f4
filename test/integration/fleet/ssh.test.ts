import { execFileSync } from 'node:child_process';
import { mkdirSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { describeInLab } from '../../lab/describe-in-lab.ts';
import { hasPodman, startPodman } from '../../lab/engine/podman.ts';
import { startSshServer } from '../../lab/engine/ssh-server.ts';
import { catalogue } from '../../lab/registry/catalogue.ts';
import { pushImage } from '../../lab/registry/push.ts';
import { skipBecause } from '../../lab/skip-because.ts';
import { runUpkeep } from '../../support/scene/run-upkeep.ts';
import { serveFleet } from '../../support/scene/serve-fleet.ts';

/** A real sshd, and the processes of `ssh` on our side. */
describeInLab('an engine behind ssh', (lab) => {
  const { engine, registry } = lab;
  const image = `${registry.host}/ssh/app:1`;
  const stops = { StopTimeout: 1 };

  test('has at most two sessions beside that of its events, and none but that one after ten seconds', async () => {
    await pushImage(registry, 'ssh/app', '1', catalogue['plain-v1']);
    await engine.pull(image);
    await engine.run('web', image, stops);
    onTestFinished(() => engine.clear());
    const far = await startSshServer(lab.dir, { DOCKER_HOST: `unix://${engine.socket}` });
    onTestFinished(() => far.stop());

    const upkeep = await serveFleet(['--host', `ssh://root@${far.host}`], { env: { HOME: '/root' } });
    const most = watchSessions(upkeep.pid);
    await upkeep.lists(1);
    await pushImage(registry, 'ssh/app', '1', catalogue['plain-v2']);
    const update = await upkeep.ask('/v1/update', 'POST');
    expect(update.text).toContain('"outcome":"updated"');
    await Promise.all(Array.from({ length: 10 }, () => upkeep.ask('/v1/check', 'POST')));
    expect(most.end()).toBeLessThanOrEqual(3);
    await expect.poll(() => sessionsOf(upkeep.pid), { timeout: 30_000 }).toBe(1);
    await engine.run('other', image, stops);
    await upkeep.lists(2);
  });

  test('is that of Podman where Docker is not installed', async (context) => {
    if (!hasPodman) skipBecause(context, 'Podman is not installed');
    const podman = await startPodman(lab.dir, { name: 'behind-ssh' });
    onTestFinished(() => podman.remove());
    const programs = join(podman.dir, 'programs');
    mkdirSync(programs);
    symlinkSync('/usr/bin/podman', join(programs, 'podman'));
    const far = await startSshServer(lab.dir, { PATH: programs, CONTAINER_HOST: `unix://${podman.socket}` });
    onTestFinished(() => far.stop());
    await pushImage(registry, 'ssh/app', '1', catalogue['plain-v1']);
    await podman.pull(image);
    await podman.run('web', image, stops);
    await pushImage(registry, 'ssh/app', '1', catalogue['plain-v2']);

    const args = ['--json', '--health-window', '500ms', '--host', `ssh://root@${far.host}`];
    const run = await runUpkeep(['update', ...args], { env: { HOME: '/root' } });
    expect(run.stdout, run.stderr).toContain('"outcome": "updated"');
  });
});

/** Number of `ssh` processes of a service. */
function sessionsOf(pid: number): number {
  const rows = execFileSync('ps', ['-e', '-o', 'ppid=,stat=,comm='], { encoding: 'utf8' }).split('\n');
  return rows.map((row) => row.trim().split(/ +/)).filter(([parent, state, name]) => isSession(parent, state, name))
    .length;

  function isSession(parent = '', state = '', name = ''): boolean {
    return parent === String(pid) && name === 'ssh' && !state.startsWith('Z');
  }
}

/** Counts every 50 ms; `end` returns the maximum. */
function watchSessions(pid: number): { readonly end: () => number } {
  let most = 0;
  const timer = setInterval(() => (most = Math.max(most, sessionsOf(pid))), 50);
  onTestFinished(() => clearInterval(timer));
  return {
    end() {
      clearInterval(timer);
      return most;
    },
  };
}
