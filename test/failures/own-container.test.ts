import { describe, expect, test } from 'vitest';
import { inNetworkOf, restart, setStage, type Stage, type UpdateOptions } from './rig/stage.ts';

/** The container that the updater itself runs in: it is never touched, whatever anybody says. */

const labels = {
  Labels: {
    'upkeep.enable': 'true',
    'com.centurylinklabs.watchtower': 'true',
    'com.centurylinklabs.watchtower.enable': 'true',
  },
};
const own = { body: { ...labels, HostConfig: restart('unless-stopped') } };

/** The service in the container `upkeep` of the stage. */
function inside(stage: Stage): Pick<UpdateOptions, 'outside'> {
  const containerId = stage.before.get('upkeep')!.id;
  return { outside: ({ instance }) => ({ instance: { ...instance, containerId } }) };
}

describe('its own container', () => {
  test('failure 31: has a newer image: it is told so with the reason, and no successor is made', async () => {
    const stage = await setStage({ upkeep: own, web: {} });
    const { outcomes, of, connection } = await stage.update(inside(stage));
    expect(outcomes).toEqual({ upkeep: 'skipped', web: 'updated' });
    expect(of('upkeep').reason).toBe(
      'It is Upkeep itself, which cannot stop itself and go on: pull its image and re-create it by hand',
    );
    expect(connection.calls.filter(({ target, detail }) => `${target} ${detail}`.includes('upkeep:1'))).toEqual([]);
    expect(stage.isReplaced('upkeep')).toBe(false);
    expect(stage.harm()).toEqual([]);
  });

  test('failure 32: is named in the request: it keeps its name, its policy and its process', async () => {
    const stage = await setStage({ upkeep: own });
    const { outcomes, connection } = await stage.update({ ...inside(stage), request: { containers: ['upkeep'] } });
    expect(outcomes).toEqual({ upkeep: 'skipped' });
    expect(connection.calls).toEqual([]);
    expect(stage.harm()).toEqual([]);
  });

  test('failure 33: is killed in the middle of an update of others: it has its name and its policy all the time', async () => {
    const names: string[] = [];
    for (let at = 1; ; at += 1) {
      const stage = await setStage({ upkeep: own, web: {} });
      const { connection } = await stage.update(inside(stage));
      if (at > connection.calls.length) break;
      const killed = await setStage({ upkeep: own, web: {} });
      await killed.updateKilled({ ...inside(killed), faults: [{ at, fault: { kind: 'crash', when: 'after' } }] });
      const { name, running, settings } = killed.now('upkeep');
      names.push(`${name} ${running} ${settings.HostConfig.RestartPolicy?.Name}`);
      await killed.startAgain();
      expect(killed.harm()).toEqual([]);
    }
    expect(names.length).toBeGreaterThan(8);
    expect(new Set(names)).toEqual(new Set(['upkeep true unless-stopped']));
  });

  test('failure 34: needs no helper: an update makes no container but the successor of the one it replaces', async () => {
    const stage = await setStage({ upkeep: own, web: {} });
    const { connection } = await stage.update(inside(stage));
    const created = connection.calls.filter(({ kind }) => kind === 'createContainer').map(({ target }) => target);
    expect(created).toEqual(['web.upkeep-new']);
  });

  test('failure 35: is in the network of a stale container: neither is touched, however long it takes', async () => {
    const body = { ...labels, ...inNetworkOf('vpn') };
    const stage = await setStage({ vpn: {}, upkeep: { body, next: 'none' }, web: {} });
    const { outcomes, of } = await stage.update(inside(stage));
    expect(outcomes).toMatchObject({ vpn: 'skipped', web: 'updated' });
    expect(of('vpn').reason).toContain('2 containers have to move together, and "upkeep" is Upkeep itself');
    expect(stage.isReplaced('vpn')).toBe(false);
    expect(stage.harm()).toEqual([]);
  });

  test('pitfall 5: is never renamed nor doubled, so that no start can leave two of it', async () => {
    const stage = await setStage({ upkeep: own, web: { next: { behaviour: { startError: 'exec: not found' } } } });
    for (let run = 0; run < 3; run += 1) await stage.update(inside(stage));
    expect(Object.keys(stage.scene.sandbox.control.snapshot().containers).toSorted()).toEqual(['upkeep', 'web']);
    expect(stage.isReplaced('upkeep')).toBe(false);
    expect(stage.harm()).toEqual([]);
  });

  test.each(['web', 'watchtower', 'watchtower-old-1'])(
    'pitfall 15: a container "%s" of somebody else carries the label of an updater: it is one like any other',
    async (name) => {
      const stage = await setStage({ upkeep: own, [name]: { body: labels }, quiet: { body: labels, next: 'none' } });
      const { outcomes } = await stage.update(inside(stage));
      expect(outcomes).toEqual({ upkeep: 'skipped', [name]: 'updated', quiet: 'fresh' });
      await stage.startAgain();
      expect(stage.isReplaced('quiet')).toBe(false);
      expect(stage.harm()).toEqual([]);
    },
  );
});
