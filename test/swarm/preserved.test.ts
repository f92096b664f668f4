import { expect, test } from 'vitest';
import { catalogue } from '../lab/registry/catalogue.ts';
import { describeInSwarm } from '../lab/swarm/describe-in-swarm.ts';
import { everySetting, memberText } from '../lab/swarm/every-setting.ts';
import { pushImage } from '../lab/registry/push.ts';
import { update } from './rig/deployed.ts';

/** The version in the path decides which settings an engine keeps; Upkeep's own option must not decide it. */
describeInSwarm('the spec of a service', {}, (swarm) => {
  test.each([[[]], [['--api-version', '1.41']]])(
    'is byte for byte what it was after an update, but for the image and the two marks %j',
    async (args) => {
      const { registry } = swarm();
      const publish = async (tag: 'v1' | 'v2') => {
        const { digest } = await pushImage(registry, 'swarm/full', 'stable', catalogue[tag]);
        return `${registry.host}/swarm/full:stable@${digest}`;
      };
      const old = await publish('v1');
      const id = await everySetting(swarm(), old, { newest: true });
      const raw = async () => (await swarm().send({ path: `/services/${id}` })).text;
      const before = memberText(await raw(), 'Spec');
      expect(before).toContain('9007199254740993');
      expect(before).toContain('9223372036854775807');
      const next = await publish('v2');
      expect((await update(swarm(), ...args)).of('full')).toMatchObject({ outcome: 'updated' });

      const text = await raw();
      const after = memberText(text, 'Spec');
      const { Labels } = (JSON.parse(after) as { Labels: Record<string, string> }) ?? {};
      expect(Labels['upkeep.tx.from']).toBe(old);
      const withoutMarks = after
        .replace(/"upkeep\.tx\.id":"[^"]*",?/, '')
        .replace(/"upkeep\.tx\.from":"[^"]*",?/, '')
        .replace(',}', '}');
      expect(withoutMarks).toBe(before.replace(`"Image":"${old}"`, `"Image":"${next}"`));
      expect(memberText(text, 'PreviousSpec')).toBe(before);
    },
  );
});
