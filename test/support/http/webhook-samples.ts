import { createHmac } from 'node:crypto';
import type { HookKind } from '../../../src/interfaces/http/requests/pushed-images.ts';

/** A webhook as its registry sends it after a push. */
export type WebhookSample = {
  readonly from: string;
  readonly kind: Exclude<HookKind, 'auto'>;
  /** The image of a container that it is about, and one of another registry or repository that it is not about. */
  readonly image: string;
  readonly stranger: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly payload: object;
  /** How that registry proves that it knows the secret. */
  readonly proof: 'url' | 'authorization' | { readonly header: string; readonly of: Proof };
};

type Proof = (body: string, secret: string) => string;

const hex =
  (hash: string, prefix = ''): Proof =>
  (body, secret) =>
    prefix + createHmac(hash, secret).update(body).digest('hex');
const plain: Proof = (_, secret) => secret;

const digest = `sha256:${'4f'.repeat(32)}`;

export const webhookSamples: readonly WebhookSample[] = [
  {
    from: 'Docker Hub',
    kind: 'docker-hub',
    image: 'acme/shop:1.4',
    stranger: 'quay.io/acme/shop:1.4',
    headers: {},
    proof: 'url',
    payload: {
      callback_url: 'https://registry.hub.docker.com/u/acme/shop/hook/2141b5bi5i5b02bec211i4eeih0242eg11000a/',
      push_data: { pushed_at: 1_417_566_161, pusher: 'anna', tag: '1.4' },
      repository: { name: 'shop', namespace: 'acme', owner: 'acme', repo_name: 'acme/shop', status: 'Active' },
    },
  },
  {
    from: 'GHCR, event registry_package',
    kind: 'ghcr',
    image: 'ghcr.io/acme/tools/shop:1.4',
    stranger: 'ghcr.io/acme/shop:1.4',
    headers: { 'x-github-event': 'registry_package', 'x-github-delivery': '72d3162e-cc78-11e3-81ab-4c9367dc0958' },
    proof: { header: 'x-hub-signature-256', of: hex('sha256', 'sha256=') },
    payload: {
      action: 'published',
      registry_package: {
        id: 1,
        name: 'tools/shop',
        namespace: 'Acme',
        package_type: 'CONTAINER',
        ecosystem: 'CONTAINER',
        owner: { login: 'Acme' },
        package_version: { container_metadata: { tag: { name: '1.4', digest } }, package_url: '' },
      },
    },
  },
  {
    from: 'GHCR, event package',
    kind: 'ghcr',
    image: 'ghcr.io/acme/shop:latest',
    stranger: 'acme/shop:latest',
    headers: { 'x-github-event': 'package' },
    proof: { header: 'x-hub-signature-256', of: hex('sha256', 'sha256=') },
    payload: {
      action: 'published',
      package: {
        name: 'shop',
        namespace: 'acme',
        package_type: 'container',
        package_version: { package_url: 'ghcr.io/acme/shop:latest' },
      },
    },
  },
  {
    from: 'Forgejo',
    kind: 'gitea',
    image: 'git.acme.test/anna/shop:1.4',
    stranger: 'ghcr.io/anna/shop:1.4',
    headers: { 'x-forgejo-event': 'package', 'x-gitea-event': 'package', 'x-github-event': 'package' },
    proof: { header: 'x-forgejo-signature', of: hex('sha256') },
    payload: {
      action: 'created',
      repository: null,
      package: {
        id: 3,
        owner: { id: 1, login: 'Anna', username: 'Anna' },
        creator: { login: 'Anna' },
        type: 'container',
        name: 'shop',
        version: '1.4',
        html_url: 'https://git.acme.test/Anna/-/packages/container/shop/1.4',
      },
      sender: { login: 'Anna' },
    },
  },
  {
    from: 'Gitea',
    kind: 'gitea',
    image: 'git.acme.test:3000/anna/shop:1.4',
    stranger: 'anna/shop:1.4',
    headers: { 'x-gitea-event': 'package' },
    proof: { header: 'x-gitea-signature', of: hex('sha256') },
    payload: {
      action: 'created',
      package: { owner: { login: 'anna' }, type: 'container', name: 'shop', version: '1.4' },
    },
  },
  {
    from: 'GitLab, a pipeline',
    kind: 'gitlab',
    image: 'registry.gitlab.com/acme/shop/web:1.4',
    stranger: 'registry.gitlab.com/acme/shopper:1.4',
    headers: { 'x-gitlab-event': 'Pipeline Hook' },
    proof: { header: 'x-gitlab-token', of: plain },
    payload: {
      object_kind: 'pipeline',
      object_attributes: { id: 31, ref: 'main', status: 'success' },
      project: { path_with_namespace: 'acme/shop', web_url: 'https://gitlab.com/acme/shop' },
    },
  },
  {
    from: 'Harbor',
    kind: 'harbor',
    image: 'harbor.acme.test/library/shop:1.4',
    stranger: 'shop:1.4',
    headers: {},
    proof: 'authorization',
    payload: {
      type: 'PUSH_ARTIFACT',
      occur_at: 1_586_922_308,
      operator: 'admin',
      event_data: {
        resources: [{ digest, tag: '1.4', resource_url: 'harbor.acme.test/library/shop:1.4' }],
        repository: { name: 'shop', namespace: 'library', repo_full_name: 'library/shop', repo_type: 'private' },
      },
    },
  },
  {
    from: 'Harbor, as CloudEvents',
    kind: 'harbor',
    image: 'harbor.acme.test/library/shop:1.4',
    stranger: 'harbor.acme.test/other/shop:1.4',
    headers: { 'content-type': 'application/cloudevents+json' },
    proof: 'authorization',
    payload: {
      specversion: '1.0',
      type: 'harbor.artifact.pushed',
      source: '/projects/1/webhook/policies/15',
      data: {
        resources: [{ digest, tag: '1.4', resource_url: 'harbor.acme.test/library/shop:1.4' }],
        repository: { name: 'shop', namespace: 'library', repo_full_name: 'library/shop' },
      },
    },
  },
  {
    from: 'Quay',
    kind: 'quay',
    image: 'quay.io/acme/shop:1.4',
    stranger: 'acme/shop:1.4',
    headers: {},
    proof: 'url',
    payload: {
      repository: 'acme/shop',
      namespace: 'acme',
      name: 'shop',
      docker_url: 'quay.io/acme/shop',
      homepage: 'https://quay.io/repository/acme/shop',
      updated_tags: ['1.4', 'latest'],
    },
  },
  {
    from: 'ACR',
    kind: 'acr',
    image: 'acme.azurecr.io/team/shop:1.4',
    stranger: 'other.azurecr.io/team/shop:1.4',
    headers: {},
    proof: 'authorization',
    payload: {
      id: 'cb8c3971-9adc-488b-xxxx-43cbb4974ff5',
      timestamp: '2026-11-17T16:52:01.343145347Z',
      action: 'push',
      target: {
        mediaType: 'application/vnd.docker.distribution.manifest.v2+json',
        digest,
        repository: 'team/shop',
        tag: '1.4',
      },
      request: { id: '3cbb6949', host: 'acme.azurecr.io', method: 'PUT', useragent: 'docker/28' },
    },
  },
  {
    from: 'Event Grid',
    kind: 'event-grid',
    image: 'acme.azurecr.io/team/shop:1.4',
    stranger: 'team/shop:1.4',
    headers: { 'aeg-event-type': 'Notification' },
    proof: 'url',
    payload: [
      {
        id: '831e1650-001e-001b-66ab-eeb76e069631',
        subject: 'shop:1.4',
        eventType: 'Microsoft.ContainerRegistry.ImagePushed',
        data: {
          action: 'push',
          target: { digest, repository: 'team/shop', tag: '1.4' },
          request: { host: 'acme.azurecr.io', method: 'PUT' },
        },
      },
    ],
  },
  {
    from: 'ECR',
    kind: 'ecr',
    image: '123456789012.dkr.ecr.eu-west-1.amazonaws.com/team/shop:1.4',
    stranger: '123456789012.dkr.ecr.eu-west-2.amazonaws.com/team/shop:1.4',
    headers: {},
    proof: 'authorization',
    payload: {
      version: '0',
      id: '13cde686-328b-6117-af20-0e5566167482',
      'detail-type': 'ECR Image Action',
      source: 'aws.ecr',
      account: '123456789012',
      region: 'eu-west-1',
      detail: {
        result: 'SUCCESS',
        'repository-name': 'team/shop',
        'image-digest': digest,
        'action-type': 'PUSH',
        'image-tag': '1.4',
      },
    },
  },
  {
    from: 'distribution, behind a proxy',
    kind: 'distribution',
    image: 'hub.acme.test/team/shop:1.4',
    stranger: 'ghcr.io/team/shop:1.4',
    headers: { 'content-type': 'application/vnd.docker.distribution.events.v2+json' },
    proof: 'authorization',
    payload: {
      events: [
        {
          id: '320678d8-ca14-430f-8bb6-4ca139cd83f7',
          action: 'push',
          target: { mediaType: 'application/octet-stream', digest, repository: 'team/shop' },
          request: { host: 'registry:5000', method: 'PUT' },
        },
        {
          id: '320678d8-ca14-430f-8bb6-4ca139cd83f8',
          action: 'push',
          target: { mediaType: 'application/vnd.oci.image.index.v1+json', digest, repository: 'team/shop', tag: '1.4' },
          request: { host: 'registry:5000', method: 'PUT' },
        },
      ],
    },
  },
  {
    from: 'Nexus',
    kind: 'nexus',
    image: 'nexus.acme.test/docker-hosted/team/shop:1.4',
    stranger: 'nexus.acme.test/docker-hosted/shop:1.4',
    headers: { 'x-nexus-webhook-id': 'rm:repository:component', 'x-nexus-webhook-delivery': '7f4a6dde' },
    proof: { header: 'x-nexus-webhook-signature', of: hex('sha1') },
    payload: {
      timestamp: '2026-11-10T23:57:49.664+0000',
      initiator: 'admin/127.0.0.1',
      repositoryName: 'docker-hosted',
      action: 'CREATED',
      component: { id: '08909bf0', format: 'docker', name: 'team/shop', group: null, version: '1.4' },
    },
  },
  {
    from: 'Artifactory',
    kind: 'artifactory',
    image: 'acme.jfrog.io/docker-local/shop:1.4',
    stranger: 'acme.jfrog.io/docker-remote/shop:1.4',
    headers: {},
    proof: { header: 'x-jfrog-event-auth', of: plain },
    payload: {
      domain: 'docker',
      event_type: 'pushed',
      data: {
        repo_key: 'docker-local',
        path: 'shop/1.4/manifest.json',
        name: 'manifest.json',
        sha256: '4f',
        image_name: 'shop',
        tag: '1.4',
        platforms: [],
      },
    },
  },
  {
    from: 'Artifactory, signed',
    kind: 'artifactory',
    image: 'docker-local.acme.test/shop:1.4',
    stranger: 'docker-local.acme.test/other:1.4',
    headers: {},
    proof: { header: 'x-jfrog-event-auth', of: hex('sha256') },
    payload: {
      domain: 'docker',
      event_type: 'pushed',
      data: { repo_key: 'docker-local', image_name: 'shop', tag: '1.4' },
    },
  },
];
