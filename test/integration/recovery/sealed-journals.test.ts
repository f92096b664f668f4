import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { describeInLab } from '../../lab/describe-in-lab.ts';
import { fillDisk } from '../../lab/fill-disk.ts';
import { createFaultProxy, type FaultProxy } from '../../lab/proxy/fault-proxy.ts';
import { runUpkeep, startUpkeep } from '../../support/scene/run-upkeep.ts';
import { effectsScene } from '../effects/scene.ts';

describeInLab('journals under a key', (lab) => {
  const { engine } = lab;
  const { stale } = effectsScene(lab, 'sealed');
  let proxy: FaultProxy | undefined;
  let folder = '';
  beforeEach(() => void (folder = mkdtempSync(join(tmpdir(), 'sealed-'))));
  afterEach(async () => {
    await proxy?.close();
    await engine.clear();
    rmSync(folder, { recursive: true });
  });
  const upkeep = (...args: string[]) => runUpkeep(args, { socket: engine.socket });

  /** An update that is killed after the stop of its old container. */
  async function interruptedWith(...args: string[]): Promise<void> {
    const socketPath = `${lab.dir}/sealed.sock`;
    proxy = await createFaultProxy({ listen: { socketPath }, upstream: { socketPath: engine.socket } });
    const dying = startUpkeep(['update', '--health-window', '1s', ...args], { socket: socketPath });
    proxy.arm({
      at: ({ path, change }) => change !== undefined && path.endsWith('/start'),
      fault: { kind: 'kill', when: 'before', kill: dying.child.pid ?? 0 },
    });
    await dying.ended;
    await proxy.close();
    proxy = undefined;
  }

  const policyOf = async (name: string) => {
    const found = await engine.inspect(name);
    return { runs: found?.State.Running, policy: found?.HostConfig.RestartPolicy?.Name };
  };

  test('a full disk leaves no half-made key, which the next start would refuse', async () => {
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=64k,mode=700', 'tmpfs', folder]);
    try {
      const filler = fillDisk(folder);
      const refused = await upkeep('recover', '--state-dir', folder);
      expect(refused).toMatchObject({ code: 2, stderr: expect.stringContaining('ENOSPC: no space left on device') });
      rmSync(filler);
      expect(await upkeep('recover', '--state-dir', folder)).toMatchObject({ code: 0, stderr: '' });
    } finally {
      execFileSync('umount', [folder]);
    }
  });

  test('an update is repaired by whoever has its key', async () => {
    await stale('held', { config: { HostConfig: { RestartPolicy: { Name: 'always' } } } });
    await interruptedWith('--state-dir', folder);
    const repaired = await upkeep('recover', '--journal-key-file', join(folder, 'journal.key'));
    expect(repaired).toMatchObject({ code: 0, stdout: expect.stringMatching(/^Undid an interrupted update of held:/) });
    expect(await policyOf('held')).toEqual({ runs: true, policy: 'always' });
  });

  test('without its seal it is reported, left and repaired when a person says so', async () => {
    await stale('held', { config: { HostConfig: { RestartPolicy: { Name: 'always' } } } });
    await interruptedWith();
    const left = await upkeep('recover', '--state-dir', folder);
    expect(left.code).toBe(3);
    expect(left.stdout).toContain('upkeep recover --unsealed held');
    expect((await upkeep('update', '--state-dir', folder)).code).toBe(3);
    const nobody = await upkeep('recover', '--state-dir', folder, '--unsealed', 'nobody');
    expect(nobody).toMatchObject({ code: 1, stderr: expect.stringContaining('Cannot repair "nobody"') });
    const repaired = await upkeep('recover', '--state-dir', folder, '--unsealed', 'held');
    expect(repaired).toMatchObject({ code: 0, stdout: expect.stringMatching(/^Undid an interrupted update of held:/) });
    expect(await policyOf('held')).toEqual({ runs: true, policy: 'always' });
    expect(await upkeep('recover', '--state-dir', folder)).toMatchObject({ code: 0, stdout: 'Nothing to repair.\n' });
  });

  test('a key that is not there is refused before anything is touched', async () => {
    const { code, stderr } = await upkeep('update', '--journal-key-file', join(folder, 'none'));
    expect({ code, stderr }).toEqual({
      code: 2,
      stderr: expect.stringMatching(/Cannot read the journal key .*no such file/),
    });
  });
});
