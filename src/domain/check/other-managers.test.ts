import { expect, test } from 'vitest';
import { containerSummary } from '../../../test/support/scene/builders.ts';
import { whyManagedElsewhere } from './other-managers.ts';

type Labels = Readonly<Record<string, string>>;

test.each<readonly [what: string, labels: Labels]>([
  ['a pod of Kubernetes', { 'io.kubernetes.pod.name': 'web-7d9' }],
  ['a pod of Kubernetes', { 'io.kubernetes.docker.type': 'podsandbox' }],
  ['a pod of Kubernetes', { 'annotation.io.kubernetes.container.hash': '1' }],
  ['a kind cluster', { 'io.x-k8s.kind.cluster': 'dev', 'io.x-k8s.kind.role': 'control-plane' }],
  ['a k3d cluster', { app: 'k3d', 'k3d.role': 'loadbalancer' }],
  ['a minikube cluster', { 'name.minikube.sigs.k8s.io': 'minikube' }],
  ['a Talos cluster', { 'talos.cluster.name': 'home', 'talos.owned': 'true' }],
  ['Amazon ECS', { 'com.amazonaws.ecs.task-arn': 'arn:aws:ecs:x' }],
  ['Nomad', { 'com.hashicorp.nomad.alloc_id': 'b3c1' }],
  ['Home Assistant Supervisor', { supervisor_managed: '' }],
  ['Home Assistant Supervisor', { 'io.hass.type': 'addon' }],
  ['Home Assistant Supervisor', { 'io.hass.type': 'supervisor', 'io.hass.version': '2026.10' }],
  ['balena', { 'io.balena.supervised': 'true' }],
  ['Azure IoT Edge', { 'net.azure-devices.edge.owner': 'Microsoft.Azure.Devices.Edge.Agent' }],
  ['Pterodactyl', { Service: 'Pterodactyl', ContainerType: 'server_process' }],
  ['Dokku', { 'com.dokku.app-name': 'blog' }],
  ['Docker Desktop', { 'com.docker.desktop.extension': 'true' }],
  ['GitLab Runner', { 'com.gitlab.gitlab-runner.job.id': '17' }],
  ['a CI runner', { 'io.drone.build.number': '3' }],
  ['a CI runner', { 'woodpecker-ci.org/repo-id': '3' }],
  ['a CI runner', { 'com.nirima.jenkins.plugins.docker.JenkinsId': 'x' }],
  ['Testcontainers', { 'org.testcontainers': 'true' }],
  ['Testcontainers', { 'org.testcontainers.sessionId': 'x' }],
  ['docker compose run', { 'com.docker.compose.project': 'shop', 'com.docker.compose.oneoff': 'True' }],
  ['a development environment', { 'devcontainer.local_folder': '/home/me/app' }],
  ['a development environment', { 'com.ddev.site-name': 'shop' }],
  ['a development environment', { 'com.github.containers.toolbox': 'true' }],
  ['a development environment', { manager: 'distrobox' }],
  ['a development environment', { 'dev.containers.id': 'default-sh-a1b2' }],
  ['a development environment', { 'com.supabase.cli.project': 'shop', 'com.docker.compose.project': 'shop' }],
  ['a development environment', { 'skaffold.dev/run-id': 'a592b4e3' }],
  ['Cloudron', { fqdn: 'blog.example.com', appId: 'a1', isSubcontainer: 'false', isCloudronManaged: 'true' }],
  ['Coolify', { 'coolify.managed': 'true', 'coolify.type': 'application', 'coolify.applicationId': '3' }],
  ['Rancher', { 'io.rancher.container.uuid': '0655f435' }],
  ['Rancher', { 'io.rancher.rke.container.name': 'kubelet' }],
  ['a CI runner', { wp_uuid: '01HXYZ', wp_step: 'build' }],
  ['a builder', { 'dev.earthly.settingshash': '1f' }],
  ['footloose', { 'works.weave.owner': 'footloose', 'works.weave.cluster': 'lab' }],
])('whyManagedElsewhere() names %s by %j', (what, labels) => {
  expect(whyManagedElsewhere(containerSummary('web', { labels }))).toContain(what);
});

test.each([
  ['buildx_buildkit_multi0', 'bridge', 'BuildKit'],
  ['buildx_buildkit_default', 'host', 'BuildKit'],
  ['GITEA-ACTIONS-TASK-12_WORKFLOW-build_JOB-test', 'x', 'a CI runner'],
  ['a1b2_postgres_c3d4', 'github_network_0f3a', 'a CI runner'],
  ['a1b2', 'vsts_network_0f3a', 'a CI runner'],
  [`act-CI-test-${'0f'.repeat(32)}`, 'host', 'a CI runner'],
  ['dagger-engine-v0.18.3', 'bridge', 'a builder'],
])('whyManagedElsewhere() names the manager of %s in the network %s', (name, networkMode, what) => {
  expect(whyManagedElsewhere(containerSummary(name, { networkMode }))).toContain(what);
});

test.each<readonly [string, Labels]>([
  ['without labels', {}],
  [
    'a service of compose',
    { 'com.docker.compose.project': 'shop', 'com.docker.compose.service': 'web', 'com.docker.compose.oneoff': 'False' },
  ],
  ['Home Assistant itself', { 'io.hass.type': 'core', 'io.hass.version': '2026.10.1', 'io.hass.arch': 'amd64' }],
  ['an older Home Assistant', { 'io.hass.type': 'homeassistant' }],
  ['what Red Hat writes into its images', { 'io.k8s.display-name': 'nginx', 'io.openshift.tags': 'nginx' }],
  ['an app of Unraid', { 'net.unraid.docker.managed': 'dockerman' }],
  ['an app of CasaOS', { casaos: 'casaos', origin: 'system', name: 'jellyfin' }],
  ['an app of Umbrel', { 'com.docker.compose.project': 'jellyfin', 'com.docker.compose.service': 'server' }],
  ['not of Cloudron', { isCloudronManaged: 'false' }],
  ['of a cluster of another name', { 'works.weave.owner': 'me' }],
  ['a bind mount of Docker Desktop', { 'desktop.docker.io/binds/0/Source': '/Users/me' }],
  ['a label of the same name by someone else', { Service: 'web', manager: 'me', app: 'k3d' }],
  ['names of a prototype', { constructor: 'x', __proto__: 'x' }],
])('whyManagedElsewhere() leaves a person’s own container alone: %s', (_, labels) => {
  expect(whyManagedElsewhere(containerSummary('web', { labels }))).toBeUndefined();
});

test.each(['buildx_buildkit_1', 'my-buildx_buildkit_x', 'gitea-actions', 'act-web', 'dagger-engine'])(
  'whyManagedElsewhere() leaves a person’s own container alone: %s',
  (name) => expect(whyManagedElsewhere(containerSummary(name))).toBeUndefined(),
);
