import { leftOverName } from '../../src/domain/transaction/transaction-names.ts';
import { describe, expect, test } from 'vitest';
import type { Fault } from '../../sandbox/engine/calls.ts';
import { everything, inNetworkOf, reportOf, restart, setStage } from './rig/stage.ts';

/** Failures of a single changing call. */

const refuse = (status: number, message: string): Fault => ({ kind: 'refuse', status, message });
const unlessStopped = { HostConfig: restart('unless-stopped') };
const unlessStoppedFacts = { policy: { Name: 'unless-stopped', MaximumRetryCount: 0 }, wasRunning: true };
const ports = {
  ExposedPorts: { '80/tcp': {} },
  HostConfig: { ...restart('unless-stopped'), PortBindings: { '80/tcp': [{ HostPort: '8080' }] } },
};

describe('stopping the old container', () => {
  test('failure 9: the stop is refused and the process runs on: it keeps its name and its policy', async () => {
    const stage = await setStage({ web: { body: unlessStopped }, other: {} });
    const { outcomes, of } = await stage.update({
      faults: [
        {
          at: ({ kind, target }) => kind === 'stopContainer' && target.startsWith('web'),
          fault: refuse(500, 'cannot stop'),
        },
      ],
    });
    expect(outcomes).toEqual({ web: 'failed', other: 'updated' });
    expect(of('web').reason).toContain('stopping "web" failed: cannot stop');
    expect(stage.isReplaced('web')).toBe(false);
    expect(stage.harm()).toEqual([]);
  });

  test.each(['lose-answer', 'lose-request'] as const)(
    'failure 10: the answer to the stop is lost (%s): what the engine did is looked up, and the update goes on',
    async (kind) => {
      const stage = await setStage({ web: { body: unlessStopped, old: { behaviour: { stopMs: 2000 } } } });
      const { outcomes } = await stage.update({ faults: [{ at: 'stopContainer', fault: { kind } }] });
      expect(outcomes).toEqual({ web: 'updated' });
      expect(stage.harm()).toEqual([]);
    },
  );

  test('failure 10: the updater dies while the engine stops the container: the next start has it running', async () => {
    const stage = await setStage({ web: { body: unlessStopped, old: { behaviour: { stopMs: 2000 } } } });
    await stage.updateKilled({ faults: [{ at: 'stopContainer', fault: { kind: 'crash', when: 'during' } }] });
    const { transactions } = await stage.startAgain();
    expect(transactions).toMatchObject([{ containers: ['web'], result: 'undone' }]);
    expect(stage.harm()).toEqual([]);
  });
});

describe('removing the old container', () => {
  test('failure 11: the removal is refused: the new one runs under the name, and the next run removes the old one', async () => {
    const stage = await setStage({ web: { body: unlessStopped } });
    const life = stage.live({
      faults: Array.from({ length: 5 }, () => ({
        at: 'removeContainer' as const,
        fault: refuse(409, 'already in progress'),
      })),
    });
    const first = await life.application.update(everything);
    expect(first.containers).toMatchObject([{ name: 'web', outcome: 'updated' }]);
    const old = leftOverName(stage.before.get('web')?.id ?? '', { name: 'web', ...unlessStoppedFacts });
    expect(first.containers[0]?.reason).toContain(
      'stays, stopped, because it could not be removed: already in progress',
    );
    expect(stage.harm()).toEqual([`"${old}" is left over`]);
    expect(stage.now(old).running).toBe(false);
    const { id } = stage.now('web');
    const second = await life.application.update(everything);
    expect(second.containers).toMatchObject([{ name: 'web', outcome: 'fresh' }]);
    expect(stage.now('web').id).toBe(id);
    expect(stage.harm()).toEqual([]);
  });

  test('failure 11: the removal is refused to an updater that lives: its update is over, so another one may remove it', async () => {
    const stage = await setStage({ web: { body: unlessStopped } });
    const fault = refuse(409, 'already in progress');
    const first = stage.live({ faults: [{ at: 'removeContainer', fault, every: true }] });
    await first.application.update(everything);
    expect(stage.harm()).toHaveLength(1);
    const beside = await stage.update();
    expect(beside.outcomes).toEqual({ web: 'fresh' });
    expect(beside.connection.calls.map(({ kind }) => kind)).toEqual(['removeContainer']);
    expect(stage.harm()).toEqual([]);
  });

  test('failure 12: someone else removes the old container first: that was what we wanted', async () => {
    const stage = await setStage({ web: { body: unlessStopped } });
    const { control } = stage.scene.sandbox;
    const act = () => control.removeContainer('web.upkeep-drop-u');
    const { outcomes } = await stage.update({
      faults: [{ at: 'removeContainer', fault: { kind: 'third-party', when: 'before', act } }],
    });
    expect(outcomes).toEqual({ web: 'updated' });
    expect(stage.harm()).toEqual([]);
  });
});

describe('making the new container', () => {
  test.each([
    ['bad option', refuse(400, 'invalid option')],
    ['vanished network', refuse(404, 'network back not found')],
    ['vanished image', refuse(404, 'No such image')],
    ['volume driver', refuse(500, 'volume driver not found')],
  ])('failure 13: create is refused (%s): nothing has been stopped, nothing is left', async (_why, fault) => {
    const stage = await setStage({ web: { body: unlessStopped }, other: {} });
    const { outcomes, of, connection } = await stage.update({
      settings: { updateConcurrency: 1 },
      faults: [{ at: ({ kind, target }) => kind === 'createContainer' && target.startsWith('web'), fault }],
    });
    expect(outcomes).toEqual({ web: 'failed', other: 'updated' });
    expect(of('web').reason).toContain('message' in fault ? fault.message : '');
    expect(connection.calls.filter(({ kind, target }) => kind === 'stopContainer' && target.startsWith('web'))).toEqual(
      [],
    );
    expect(stage.isReplaced('web')).toBe(false);
    expect(stage.harm()).toEqual([]);
  });

  test('failure 13: the network of a vanished container is to be joined: nothing is begun', async () => {
    const stage = await setStage({ vpn: { next: 'none' }, web: { body: inNetworkOf('vpn') } });
    const { control } = stage.scene.sandbox;
    control.removeContainer('vpn');
    const { outcomes, of, connection } = await stage.update();
    expect(outcomes).toEqual({ web: 'skipped' });
    expect(of('web').reason).toContain('a container that no longer exists');
    expect(connection.calls).toEqual([]);
    expect(stage.harm()).toEqual(['"vpn" is lost']);
  });

  test.each([
    { which: 1, outcome: 'failed', reason: 'the name is in use' },
    { which: 2, outcome: 'deferred', reason: 'another container has taken the name "web"' },
  ])(
    'failure 14: rename $which is refused because of its name: $outcome, nothing has been stopped, the names come back',
    async ({ which, outcome, reason }) => {
      const stage = await setStage({ web: { body: unlessStopped } });
      let renames = 0;
      const { outcomes, of, connection } = await stage.update({
        faults: [
          {
            at: ({ kind }) => kind === 'renameContainer' && (renames += 1) === which,
            fault: refuse(409, 'the name is in use'),
          },
        ],
      });
      expect(outcomes).toEqual({ web: outcome });
      expect(of('web').reason).toContain(reason);
      expect(connection.calls.map(({ kind }) => kind)).not.toContain('stopContainer');
      expect(stage.harm()).toEqual([]);
    },
  );

  test('failure 14: someone takes the name in between: theirs is left in peace, the old one runs on, and gets its name back once it is free', async () => {
    const stage = await setStage({ web: { body: unlessStopped }, other: { next: 'none' } });
    const { control } = stage.scene.sandbox;
    let renames = 0;
    const act = () => void control.runContainer('web', { Image: 'other:1' });
    const life = stage.live({
      faults: [
        {
          at: ({ kind }) => kind === 'renameContainer' && (renames += 1) === 2,
          fault: { kind: 'third-party', when: 'before', act },
        },
      ],
    });
    const first = reportOf(life, await life.application.update(everything));
    expect(first.of('web')).toMatchObject({
      outcome: 'failed',
      reason: expect.stringContaining('another container has taken the name "web"'),
    });
    expect(stage.now('web').settings.Config.Image).toBe('other:1');
    expect(stage.now('web.upkeep-old-u')).toMatchObject({ id: stage.before.get('web')!.id, running: true });
    control.removeContainer('web');
    const second = reportOf(life, await life.application.update({ ...everything, containers: ['other'] }));
    expect(second.outcomes).toEqual({ other: 'fresh' });
    expect(stage.isReplaced('web')).toBe(false);
    expect(stage.harm()).toEqual([]);
  });

  test('failure 15: a further network cannot be connected: nothing has been stopped', async () => {
    const stage = await setStage({ web: {} });
    const { control, engine } = stage.scene.sandbox;
    const networkId = control.addNetwork('back');
    await engine.connectNetwork({ containerId: stage.before.get('web')!.id, networkId, endpoint: {} });
    control.addNetwork('other');
    await engine.connectNetwork({
      containerId: stage.before.get('web')!.id,
      networkId: (await engine.listNetworks()).find(({ name }) => name === 'other')!.id,
      endpoint: {},
    });
    const { outcomes, of, connection } = await stage.update({
      faults: [{ at: 'connectNetwork', fault: refuse(500, 'no address is left') }],
    });
    expect(outcomes).toEqual({ web: 'failed' });
    expect(of('web').reason).toContain('no address is left');
    expect(connection.calls.map(({ kind }) => kind)).not.toContain('stopContainer');
    expect(Object.keys(stage.now('web').settings.Networks)).toEqual(['bridge', 'back', 'other']);
    expect(stage.now('web').running).toBe(true);
  });

  test('failure 26: the disk is full at the create: nothing has been stopped', async () => {
    const stage = await setStage({ web: { body: unlessStopped } });
    const { control } = stage.scene.sandbox;
    const { outcomes, of } = await stage.update({
      faults: [{ at: 'createContainer', fault: { kind: 'third-party', when: 'before', act: control.fillDisk } }],
    });
    expect(outcomes).toEqual({ web: 'failed' });
    expect(of('web').reason).toContain('no space left on device');
    expect(stage.isReplaced('web')).toBe(false);
    expect(stage.harm()).toEqual([]);
  });

  test('failure 27: the container that others are in cannot be made: the whole group stays up as it is', async () => {
    const stage = await setStage({
      vpn: {},
      app: { body: inNetworkOf('vpn') },
      job: { body: inNetworkOf('vpn'), next: 'none' },
    });
    for (const victim of ['vpn', 'app', 'job']) {
      const { outcomes, connection } = await stage.update({
        faults: [
          {
            at: ({ kind, target }) => kind === 'createContainer' && target.startsWith(`${victim}.`),
            fault: refuse(400, 'bad option'),
          },
        ],
      });
      expect(outcomes).toEqual({ vpn: 'failed', app: 'failed', job: 'failed' });
      expect(connection.calls.map(({ kind }) => kind)).not.toContain('stopContainer');
      expect(stage.harm()).toEqual([]);
    }
  });
});

describe('starting the new container', () => {
  test('failure 16: the start is refused: the old one runs again', async () => {
    const stage = await setStage({
      web: { body: unlessStopped, next: { behaviour: { startError: 'exec: not found' } } },
    });
    const { outcomes, of } = await stage.update();
    expect(outcomes).toEqual({ web: 'rolled_back' });
    expect(of('web').reason).toContain('exec: not found');
    expect(of('web').downtimeMs).toEqual(expect.any(Number));
    expect(stage.isReplaced('web')).toBe(false);
    expect(stage.harm()).toEqual([]);
  });

  test('failure 16: the port is taken by another process when it is free for a moment: the old one is started as soon as it can be', async () => {
    const stage = await setStage({ web: { body: ports } });
    const { control } = stage.scene.sandbox;
    const { of } = await stage.update({
      faults: [
        {
          at: 'startContainer',
          fault: {
            kind: 'third-party',
            when: 'before',
            act: () => {
              control.occupyPort('8080/tcp');
              void stage.scene.clock.sleep(2000).then(() => control.freePort('8080/tcp'));
            },
          },
        },
      ],
    });
    expect(of('web')).toMatchObject({ outcome: 'rolled_back', reason: expect.stringContaining('8080') });
    expect(stage.harm()).toEqual([]);
  });

  test('failure 16: the port stays taken: it is reported as not back, and the next run of the same process brings it back', async () => {
    const stage = await setStage({ web: { body: ports } });
    const { control } = stage.scene.sandbox;
    const act = () => control.occupyPort('8080/tcp');
    const life = stage.live({
      faults: [{ at: 'startContainer', fault: { kind: 'third-party', when: 'before', act } }],
    });
    const first = reportOf(life, await life.application.update(everything));
    expect(first.of('web')).toMatchObject({
      outcome: 'failed',
      reason: expect.stringContaining('the container is not back yet, the next run or start of Upkeep tries again'),
    });
    control.freePort('8080/tcp');
    const second = reportOf(life, await life.application.update({ ...everything, containers: ['other'] }));
    expect(second.outcomes).toEqual({});
    expect(stage.isReplaced('web')).toBe(false);
    expect(stage.harm()).toEqual([]);
  });

  test('failure 26: the disk is full at the start: the old one runs again', async () => {
    const stage = await setStage({ web: { body: unlessStopped } });
    let starts = 0;
    const { outcomes, of } = await stage.update({
      faults: [
        {
          at: ({ kind }) => kind === 'startContainer' && (starts += 1) === 1,
          fault: refuse(500, 'no space left on device'),
        },
      ],
    });
    expect(outcomes).toEqual({ web: 'rolled_back' });
    expect(of('web').reason).toContain('no space left on device');
    expect(stage.harm()).toEqual([]);
  });

  const sick = {
    config: { Healthcheck: { Test: ['CMD', 'true'], Interval: 1e9, Retries: 1 } },
    behaviour: { health: { kind: 'unhealthy', output: 'connection refused' } },
  } as const;
  test.each([
    ['ends at once', { behaviour: { exitsAfterMs: 1, exitCode: 3 } }, 'exited with code 3'],
    ['is never healthy', sick, 'unhealthy'],
  ])(
    'failure 17: the new version %s: the old one runs again, and its image stays, with --cleanup too',
    async (_what, next, why) => {
      const stage = await setStage({ web: { body: unlessStopped, next }, other: {} });
      const { outcomes, of } = await stage.update({ settings: { cleanup: true, updateConcurrency: 1 } });
      expect(outcomes).toEqual({ web: 'rolled_back', other: 'updated' });
      expect(of('web').reason).toContain(why);
      expect(stage.isReplaced('web')).toBe(false);
      expect(stage.harm()).toEqual([]);
      const { imageIds, tags } = stage.scene.sandbox.control.snapshot();
      expect(imageIds).toContain(stage.before.get('web')!.imageId);
      expect(tags['web:1']).toBe(stage.before.get('web')!.imageId);
      const again = await stage.update({ settings: { cleanup: true } });
      expect(again.outcomes).toEqual({ web: 'skipped', other: 'fresh' });
      expect(again.of('web').reason).toContain('Upkeep will not retry it until a newer image is published');
      expect(again.connection.calls.map(({ kind }) => kind)).not.toContain('stopContainer');
    },
  );

  test('failure 28: a container that only moves along cannot be made again: it is reported as failed, never as fresh', async () => {
    const stage = await setStage({ vpn: {}, app: { body: inNetworkOf('vpn'), next: 'none' } });
    let starts = 0;
    const { outcomes, session } = await stage.update({
      faults: [
        {
          at: ({ kind }) => kind === 'startContainer' && (starts += 1) === 2,
          fault: refuse(500, 'cannot join the network'),
        },
      ],
    });
    expect(outcomes).toEqual({ vpn: 'rolled_back', app: 'rolled_back' });
    for (const { reason } of session.containers) expect(reason).toContain('cannot join the network');
    expect(stage.now('app').settings.HostConfig.NetworkMode).toBe(`container:${stage.now('vpn').id}`);
    expect(stage.harm()).toEqual([]);
  });

  test('pitfall 2: the same when it cannot even be created', async () => {
    const stage = await setStage({ vpn: {}, app: { body: inNetworkOf('vpn'), next: 'none' } });
    const { outcomes } = await stage.update({
      faults: [
        {
          at: ({ kind, target }) => kind === 'createContainer' && target.startsWith('app.'),
          fault: refuse(500, 'no'),
        },
      ],
    });
    expect(outcomes).toEqual({ vpn: 'failed', app: 'failed' });
    expect(stage.harm()).toEqual([]);
  });
});
