import { afterEach, expect, test } from 'vitest';
import { describeInLab } from '../lab/describe-in-lab.ts';
import { runUpkeep } from '../support/scene/run-upkeep.ts';
import { setRealStage } from './rig/real-stage.ts';

/** Set-ups around a real engine that an updater must know, with the shipped executable. */
describeInLab('a set-up that people have', (lab) => {
  afterEach(() => lab.engine.clear());

  const of = (Labels: Readonly<Record<string, string>>) => ({ config: { StopTimeout: 1, Labels } });

  test('failure 41: containers of other managers are not watched, with the reason, unless their own label asks', async () => {
    const cast = {
      k8s_web: of({ 'io.kubernetes.pod.name': 'web', 'io.kubernetes.container.name': 'web' }),
      addon_ssh: of({ 'io.hass.type': 'addon' }),
      hassio: of({ supervisor_managed: '' }),
      ecs: of({ 'com.amazonaws.ecs.cluster': 'c' }),
      nomad: of({ 'com.hashicorp.nomad.job_name': 'x' }),
      'runner-build': of({ 'com.gitlab.gitlab-runner.type': 'build' }),
      ryuk: of({ 'org.testcontainers.ryuk': 'true' }),
      buildx_buildkit_multi0: {},
      'shop-web-run-1': of({ 'com.docker.compose.project': 'shop', 'com.docker.compose.oneoff': 'True' }),
      'kind-control-plane': of({ 'io.x-k8s.kind.cluster': 'kind' }),
      'dev-box': of({ 'devcontainer.local_folder': '/src' }),
      asked: of({ 'io.kubernetes.pod.name': 'web', 'upkeep.enable': 'true' }),
      'asked-as-before': of({ 'org.testcontainers': 'true', 'com.centurylinklabs.watchtower.enable': 'true' }),
      homeassistant: of({ 'io.hass.type': 'core', 'io.hass.version': '1' }),
      web: {},
    };
    const stage = await setRealStage(lab, cast);
    const { code, outcomes, stderr } = await stage.update();
    expect(code, stderr).toBe(0);
    const own = { asked: 'updated', 'asked-as-before': 'updated', homeassistant: 'updated', web: 'updated' };
    expect(outcomes).toEqual(own);
    for (const name of Object.keys(cast)) expect([name, await stage.isReplaced(name)]).toEqual([name, name in own]);
    expect(stderr).toContain('Container \\"k8s_web\\" is not watched: it belongs to a pod of Kubernetes');
    expect(await stage.harm()).toEqual([]);

    const named = await runUpkeep(['update', 'ecs'], { socket: lab.engine.socket });
    expect(named.code).toBe(1);
    expect(named.stderr).toContain('"ecs" is not watched: it belongs to a task of Amazon ECS');
    const list = await runUpkeep(['containers', '--all'], { socket: lab.engine.socket });
    expect(list.stdout).toMatch(/nomad .*belongs to an allocation of Nomad/);
    const check = await runUpkeep(['check'], { socket: lab.engine.socket });
    expect(check.stderr).toContain('"hassio\\"');
  });

  test('failure 41: one that shares the network of another container holds that one too', async () => {
    const NetworkMode = 'container:vpn';
    const stage = await setRealStage(lab, {
      vpn: {},
      'shop-app-run-1': {
        config: { StopTimeout: 1, HostConfig: { NetworkMode }, Labels: { 'com.docker.compose.oneoff': 'true' } },
      },
    });
    const { code, outcomes, reasons, changes } = await stage.update();
    expect(code).toBe(0);
    expect(outcomes).toEqual({ vpn: 'skipped' });
    expect(reasons['vpn']).toContain('"shop-app-run-1" is a single command (docker compose run)');
    expect(changes).toEqual([]);
    expect(await stage.harm()).toEqual([]);
  });
});
