import { afterEach, expect, test } from 'vitest';
import { permissionNames, permissions } from '../../src/domain/outside/permission.ts';
import { describeInLab } from '../lab/describe-in-lab.ts';
import type { ProxiedCall } from '../lab/proxy/fault-proxy.ts';
import { catalogue } from '../lab/registry/catalogue.ts';
import { setRealStage } from './rig/real-stage.ts';

const versions = { good: catalogue['plain-v2'], failing: catalogue.unstartable } as const;

/** Each call of an update, forbidden as proxies do it. `UPKEEP_PERMISSIONS=all` tries everything, else a part. */
const matrix = permissionNames.flatMap((name) =>
  [403, 404, 405].flatMap((status) =>
    (['good', 'failing'] as const).map((version) => ({ name, call: permissions[name].call, status, version })),
  ),
);
const drawn = process.env['UPKEEP_PERMISSIONS'] === 'all' ? matrix : matrix.filter((_, place) => place % 11 === 3);

/** The outcomes without the permission, by its need and the new version. */
const outcomes = {
  always: { good: 'failed', failing: 'failed' },
  pull: { good: 'failed', failing: 'failed' },
  no: { good: 'updated', failing: 'rolled_back' },
} as const;

describeInLab('a proxy before a real engine forbids one call', (lab) => {
  afterEach(() => lab.engine.clear());

  test.each(drawn)(
    'set-up one call forbidden: $call with $status, and the new version is $version',
    async ({ name, call, status, version }) => {
      const stage = await setRealStage(lab, { web: { next: versions[version] } });
      const forbid = { kind: 'answer', when: 'before', status, body: '<html><h1>no</h1></html>' } as const;
      const run = await stage.update({
        arm: (proxy) => proxy.arm({ at: (one) => isCall(one, call), times: Infinity, fault: forbid }),
      });
      const { needed } = permissions[name];
      const web = await lab.engine.inspect('web');
      expect(web?.State.Running, run.stdout + run.stderr).toBe(true);
      expect(run.stdout + run.stderr).not.toContain('<h1>');
      if (needed === 'no') {
        expect(run.outcomes).toEqual({ web: outcomes.no[version] });
        expect(run.code).toBe(version === 'good' ? 0 : 1);
      } else {
        // Without its image, a container cannot be checked: 3.
        expect(run.code).toBe(name === 'inspectImage' ? 3 : 1);
        expect(run.stdout).toContain(call.replace(/\{name\}.*/, ''));
        expect(await stage.isReplaced('web')).toBe(false);
      }
      const again = await stage.update();
      const isLater = needed === 'no';
      expect(again.outcomes, again.stdout + again.stderr).toEqual({
        web: version === 'good' ? (isLater ? 'fresh' : 'updated') : isLater ? 'skipped' : 'rolled_back',
      });
      expect(await stage.harm()).toEqual([]);
    },
  );
});

function isCall({ method, path }: ProxiedCall, call: string): boolean {
  const [wanted, pattern = ''] = call.split(' ');
  const expression = pattern.replace('{id}', '[^/]+').replace('{name}', '.+');
  return method === wanted && new RegExp(String.raw`^(?:/v1\.\d+)?${expression}(?:\?.*)?$`).test(path);
}
