import { expect, test } from 'vitest';
import { catalogue } from '../lab/registry/catalogue.ts';
import { pushImage } from '../lab/registry/push.ts';
import { describeInSwarm } from '../lab/swarm/describe-in-swarm.ts';
import { everySetting, memberText } from '../lab/swarm/every-setting.ts';
import { pinnedImage } from '../lab/swarm/pinned-image.ts';
import { registryAuth } from '../lab/swarm/registry-auth.ts';
import { hasEnded, runningTasks, serviceSpec } from '../lab/swarm/service-spec.ts';

/** A spec that is read, changed and posted, with its credentials. */
describeInSwarm('the spec of a service', {}, (swarm) => {
  const image = (tag: string) => pinnedImage(swarm().registry, tag);
  const rawService = async (id: string, api = '') => (await swarm().send({ path: `${api}/services/${id}` })).text;
  /** The swarm changes the version after the creation: a person would try again. */
  const post = async (id: string, body: string, { api = '', headers = {} } = {}) => {
    for (;;) {
      const version = (await swarm().service(id)).Version.Index;
      const path = `${api}/services/${id}/update?version=${version}`;
      const reply = await swarm().send({ method: 'POST', path, body, headers });
      if (!reply.text.includes('out of sequence')) return reply;
    }
  };

  test('stays byte for byte where only the text of the image is replaced, and stands as the previous one', async () => {
    const id = await everySetting(swarm(), await image('v1'));
    const before = memberText(await rawService(id), 'Spec');
    expect(before).toContain('9007199254740993');
    const next = before.replace(`"Image":"${await image('v1')}"`, `"Image":"${await image('v2')}"`);
    expect((await post(id, next)).status).toBe(200);
    const after = await rawService(id);
    expect(memberText(after, 'Spec')).toBe(next);
    expect(memberText(after, 'PreviousSpec')).toBe(before);
  });

  test('has another number in it where it was parsed and printed, and nobody says so', async () => {
    const id = await everySetting(swarm(), await image('v1'));
    const { Spec } = await swarm().service(id);
    expect((await post(id, JSON.stringify(Spec))).text).toContain('cannot unmarshal number');
    delete Spec.TaskTemplate.ContainerSpec['Ulimits'];
    expect((await post(id, JSON.stringify(Spec))).status).toBe(200);
    expect(await rawService(id)).toContain('9007199254740992');
  });

  test('loses settings, and nobody says so, where an older version of the API reads and writes it', async () => {
    const id = await everySetting(swarm(), await image('v1'));
    const before = memberText(await rawService(id), 'Spec');
    const old = '/v1.40';
    const spec = memberText(await rawService(id, old), 'Spec');
    expect((await post(id, spec, { api: old })).status).toBe(200);
    const after = memberText(await rawService(id), 'Spec');
    expect(before).toContain('"Ulimits"');
    expect(after).not.toContain('"Ulimits"');
  });

  test('keeps credentials that nobody sees, until others are given, which must be padded', async () => {
    const registry = await swarm().startRegistry({ auth: 'basic' });
    try {
      const { credentials } = registry;
      const first = await pushImage(registry, 'team/app', 'v1', catalogue['plain-v1']);
      const second = await pushImage(registry, 'team/app', 'v2', catalogue['plain-v2']);
      const padded = registryAuth(registry.host, credentials);
      const create = (name: string, auth: string) =>
        swarm().create(serviceSpec(name, `${registry.host}/team/app:v1@${first.digest}`, { replicas: 1 }), {
          'x-registry-auth': auth,
        });
      const id = await create('private', padded);
      await swarm().until(id, (_, tasks) => runningTasks(tasks).length === 1);
      expect(await rawService(id)).not.toContain(credentials?.password);
      await swarm().change(
        id,
        (spec) => (spec.TaskTemplate.ContainerSpec.Image = `${registry.host}/team/app:v2@${second.digest}`),
      );
      const { service } = await swarm().until(id, hasEnded);
      expect(service.UpdateStatus?.State).toBe('completed');

      expect(padded).toMatch(/=$/);
      const unpadded = await create('unpadded', padded.replace(/=+$/, ''));
      const fresh = await pushImage(registry, 'team/app', 'v3', catalogue['v1']);
      const spec = serviceSpec('unpadded', `${registry.host}/team/app:v3@${fresh.digest}`, { replicas: 1 });
      await post(unpadded, JSON.stringify(spec), { headers: { 'x-registry-auth': padded.replace(/=+$/, '') } });
      await swarm().until(unpadded, (_, tasks) => tasks.some(({ Status }) => Status.Err?.includes('No such image')));
    } finally {
      await registry.remove();
    }
  });
});
