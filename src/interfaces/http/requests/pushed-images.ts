import type { IncomingHttpHeaders } from 'node:http';
import { type ImageReference, repositoryName, tryParseImageReference } from '../../../domain/image/image-reference.ts';
import { arrayOf, isJsonObject, type JsonObject, objectOf, parseJson, stringOf } from '../../../domain/text/json.ts';

const dockerHub = 'docker.io';

/** The senders of webhooks, by the names of the parameter `kind`. */
export const hookKinds = [
  'auto',
  'gitea',
  'ghcr',
  'gitlab',
  'nexus',
  'artifactory',
  'event-grid',
  'ecr',
  'distribution',
  'acr',
  'harbor',
  'docker-hub',
  'quay',
] as const;

export type HookKind = (typeof hookKinds)[number];

/** A repository that a webhook names. */
type Push = {
  /** Host with port; undefined if the webhook does not name it. */
  readonly host?: string | undefined;
  /** Whether pulls use that host too. A registry behind a proxy knows its own name only. */
  readonly isPublicHost?: boolean;
  /** The repository, under every name that pulls may use. */
  readonly names: readonly string[];
  /** Also the repositories below it. */
  readonly below?: boolean;
};

export type Delivery = {
  /** Undefined: no known webhook, or not about an image. */
  readonly kind: Exclude<HookKind, 'auto'> | undefined;
  readonly pushes: readonly Push[];
  /** Event Grid asks for it back before it delivers anything. */
  readonly validationCode?: string;
};

/**
 * Reads the body of a webhook, which is only a hint: nothing in it is trusted, and no address in it is asked. A body in
 * an unknown form is about no image.
 */
export function readDelivery(body: Buffer, headers: IncomingHttpHeaders, kind: HookKind = 'auto'): Delivery {
  const payload = payloadOf(body, headers);
  const found =
    kind === 'auto' ? forms.find(({ isIt }) => isIt(payload, headers)) : forms.find((each) => each.kind === kind);
  if (found === undefined) return { kind: undefined, pushes: [] };
  const validationCode = found.kind === 'event-grid' ? validationCodeIn(payload) : undefined;
  const pushes = found
    .read(payload)
    .filter(({ names }) => names.length > 0)
    .slice(0, maxPushes);
  return { kind: found.kind, pushes, ...(validationCode !== undefined && { validationCode }) };
}

/** The watched containers that pushes may be about, and their repositories as `docker.io/acme/shop`, at most 20. */
export function containersPushed(
  pushes: readonly Push[],
  containers: readonly { readonly name: string; readonly image: string }[],
): { readonly repositories: readonly string[]; readonly names: readonly string[] } {
  const byRepository = new Map<string, { readonly reference: ImageReference; readonly names: string[] }>();
  for (const { name, image } of containers) {
    const reference = tryParseImageReference(image);
    if (reference === undefined) continue;
    const key = repositoryName(reference);
    const entry = byRepository.get(key) ?? { reference, names: [] };
    entry.names.push(name);
    byRepository.set(key, entry);
  }
  const all = [...byRepository.values()];
  const found = pushes.flatMap((push) => {
    const ofName = all.filter(({ reference: { repository } }) => isNamed(repository, push));
    const ofHost = ofName.filter(({ reference: { registry } }) => isSameHost(registry, push.host));
    if (ofHost.length > 0 || push.isPublicHost === true) return ofHost;
    return ofName.filter(({ reference: { registry } }) => !publicRegistries.has(registry));
  });
  const chosen = [...new Set(found)].slice(0, maxPushes);
  return {
    repositories: chosen.map(({ reference }) => repositoryName(reference)),
    names: [...new Set(chosen.flatMap((each) => each.names))].sort(),
  };
}

function isSameHost(registry: string, host = ''): boolean {
  return registry.toLowerCase().replace(/:443$/, '') === host.toLowerCase().replace(/:443$/, '');
}

const maxPushes = 20;

/** A registry of one's own is none of these, whatever its webhook calls itself. */
const publicRegistries: ReadonlySet<string> = new Set([
  dockerHub,
  'ghcr.io',
  'quay.io',
  'registry.gitlab.com',
  'gcr.io',
  'public.ecr.aws',
  'mcr.microsoft.com',
  'registry.k8s.io',
  'lscr.io',
]);

function isNamed(repository: string, { names, below = false }: Push): boolean {
  return names.some((name) => name === repository || (below && repository.startsWith(`${name}/`)));
}

/** GitHub and Gitea can send JSON as a field of a form. */
function payloadOf(body: Buffer, headers: IncomingHttpHeaders): unknown {
  const text = body.toString('utf8');
  const isForm = headers['content-type']?.toLowerCase().startsWith('application/x-www-form-urlencoded') === true;
  return parseJson(isForm ? (new URLSearchParams(text).get('payload') ?? '') : text);
}

type Form = {
  readonly kind: Exclude<HookKind, 'auto'>;
  /** Whether a webhook of unknown kind has this form. The first that says so reads it. */
  readonly isIt: (payload: unknown, headers: IncomingHttpHeaders) => boolean;
  readonly read: (payload: unknown) => readonly Push[];
};

/** Gitea comes before GitHub, because it also sends GitHub's headers. */
const forms: readonly Form[] = [
  {
    kind: 'gitea',
    isIt: (_, headers) => headers['x-gitea-event'] !== undefined || headers['x-forgejo-event'] !== undefined,
    read(payload) {
      const { action, package: pushed } = fields(payload);
      const { type, name, owner, html_url } = fields(pushed);
      if (type !== 'container' || action === 'deleted') return [];
      return [
        { host: hostOf(html_url), names: names(joined(fields(owner)['login'] ?? fields(owner)['username'], name)) },
      ];
    },
  },
  {
    kind: 'ghcr',
    isIt: (_, headers) => headers['x-github-event'] !== undefined,
    read(payload) {
      const pushed = fields(fields(payload)['registry_package'] ?? fields(payload)['package']);
      const { namespace, name, owner, package_version: version } = pushed;
      const type = text(pushed['package_type'] ?? pushed['ecosystem']).toLowerCase();
      if (type !== 'container' && type !== 'docker') return [];
      const url = tryParseImageReference(text(fields(version)['package_url']).replace(/:$/, ''));
      if (url !== undefined && url.registry !== dockerHub)
        return [{ host: url.registry, isPublicHost: true, names: names(url.repository) }];
      return [{ host: 'ghcr.io', isPublicHost: true, names: names(joined(namespace ?? fields(owner)['login'], name)) }];
    },
  },
  {
    kind: 'gitlab',
    isIt: (payload, headers) => headers['x-gitlab-event'] !== undefined && !isDistribution(payload),
    // https://docs.gitlab.com/user/project/integrations/webhook_events/#pipeline-events
    read(payload) {
      const { object_kind, object_attributes, project } = fields(payload);
      const { path_with_namespace, web_url } = fields(project);
      if (object_kind !== 'pipeline' || fields(object_attributes)['status'] !== 'success') return [];
      const isPublic = hostOf(web_url) === 'gitlab.com';
      const host = isPublic ? { host: 'registry.gitlab.com', isPublicHost: true } : {};
      return [{ ...host, names: names(path_with_namespace), below: true }];
    },
  },
  {
    kind: 'nexus',
    isIt: (_, headers) => headers['x-nexus-webhook-id'] !== undefined,
    read(payload) {
      const { action, repositoryName, component } = fields(payload);
      const { format, name } = fields(component);
      if (format !== 'docker' || text(action).toUpperCase() === 'DELETED') return [];
      return [{ names: [...names(name), ...names(joined(repositoryName, name))] }];
    },
  },
  {
    kind: 'artifactory',
    isIt: (payload, headers) =>
      headers['x-jfrog-event-auth'] !== undefined ||
      (fields(payload)['domain'] === 'docker' && typeof fields(payload)['event_type'] === 'string'),
    read(payload) {
      const { domain, event_type, data } = fields(payload);
      const { repo_key, image_name } = fields(data);
      if (domain !== 'docker' || event_type !== 'pushed') return [];
      return [{ names: [...names(image_name), ...names(joined(repo_key, image_name))] }];
    },
  },
  {
    kind: 'event-grid',
    isIt: (payload, headers) => headers['aeg-event-type'] !== undefined || gridEvents(payload).length > 0,
    read: (payload) => gridEvents(payload).map(({ data }) => acrPush(data)),
  },
  {
    kind: 'ecr',
    isIt: (payload) => fields(payload)['source'] === 'aws.ecr',
    // https://docs.aws.amazon.com/AmazonECR/latest/userguide/ecr-eventbridge.html
    read(payload) {
      const { detail, account, region } = fields(payload);
      const { 'repository-name': repository, 'action-type': action, result } = fields(detail);
      if (action !== 'PUSH' || result !== 'SUCCESS') return [];
      const domain = text(region).startsWith('cn-') ? 'amazonaws.com.cn' : 'amazonaws.com';
      const host = `${text(account)}.dkr.ecr.${text(region)}.${domain}`;
      return [{ host, isPublicHost: true, names: names(repository) }];
    },
  },
  {
    kind: 'distribution',
    isIt: isDistribution,
    // https://distribution.github.io/distribution/about/notifications/
    read(payload) {
      const events = arrayOf(fields(payload)['events']).slice(0, maxEvents).map(fields);
      const pushed = new Map(
        events.flatMap(({ action, target, request }) =>
          action === 'push' ? [[text(fields(target)['repository']), hostIn(request)] as const] : [],
        ),
      );
      return [...pushed].map(([repository, host]) => ({ host, names: names(repository) }));
    },
  },
  {
    kind: 'acr',
    isIt: (payload) => fields(payload)['target'] !== undefined && fields(payload)['action'] !== undefined,
    read: (payload) => (fields(payload)['action'] === 'push' ? [acrPush(payload)] : []),
  },
  {
    kind: 'harbor',
    isIt: (payload) => isHarbor(fields(payload)['type']),
    read(payload) {
      const { type, event_data, data } = fields(payload);
      if (!isHarbor(type)) return [];
      const { repository, resources } = fields(event_data ?? data);
      const [first] = arrayOf(resources);
      const [host] = text(fields(first)['resource_url']).split('/');
      return [{ host, names: names(fields(repository)['repo_full_name']) }];
    },
  },
  {
    kind: 'docker-hub',
    isIt: (payload) => isJsonObject(fields(payload)['push_data']),
    read(payload) {
      const { repo_name, namespace, name } = fields(fields(payload)['repository']);
      const full = text(repo_name ?? joined(namespace, name));
      return [{ host: dockerHub, isPublicHost: true, names: names(full.includes('/') ? full : `library/${full}`) }];
    },
  },
  {
    kind: 'quay',
    isIt: (payload) => fields(payload)['docker_url'] !== undefined || fields(payload)['updated_tags'] !== undefined,
    read(payload) {
      const { docker_url, repository } = fields(payload);
      const url = tryParseImageReference(text(docker_url));
      if (url === undefined || url.registry === dockerHub)
        return [{ host: 'quay.io', isPublicHost: true, names: names(repository) }];
      return [{ host: url.registry, isPublicHost: true, names: names(url.repository) }];
    },
  },
];

/** A registry notifies of each layer too. */
const maxEvents = 10_000;

function isDistribution(payload: unknown): boolean {
  return Array.isArray(fields(payload)['events']);
}

/** `harbor.artifact.pushed` is the form of CloudEvents. */
function isHarbor(type: unknown): boolean {
  return type === 'PUSH_ARTIFACT' || type === 'harbor.artifact.pushed' || type === 'pushImage';
}

/** Also a single event in the form of CloudEvents. */
function gridEvents(payload: unknown): readonly JsonObject[] {
  const events = Array.isArray(payload) ? arrayOf(payload).slice(0, maxEvents) : [payload];
  return events.map(fields).filter(({ eventType, type }) => (eventType ?? type) === imagePushed);
}

const imagePushed = 'Microsoft.ContainerRegistry.ImagePushed';

/** https://learn.microsoft.com/azure/event-grid/end-point-validation-event-grid-events-schema */
function validationCodeIn(payload: unknown): string | undefined {
  const [first] = arrayOf(payload);
  const { eventType, data } = fields(first);
  const code = fields(data)['validationCode'];
  const isAsked = eventType === 'Microsoft.EventGrid.SubscriptionValidationEvent';
  return isAsked && typeof code === 'string' && /^[\w-]{1,200}$/.test(code) ? code : undefined;
}

/** https://learn.microsoft.com/azure/container-registry/container-registry-webhook-reference */
function acrPush(payload: unknown): Push {
  const { request, target } = fields(payload);
  return { host: hostIn(request), isPublicHost: true, names: names(fields(target)['repository']) };
}

function hostIn(request: unknown): string | undefined {
  return stringOf(fields(request)['host']);
}

function hostOf(url: unknown): string | undefined {
  return URL.parse(text(url))?.host;
}

function fields(value: unknown): JsonObject {
  return objectOf(value) ?? {};
}

function text(value: unknown): string {
  return typeof value === 'string' ? value.slice(0, maxText) : '';
}

/** Longer than any reference. */
const maxText = 1024;

function joined(...parts: readonly unknown[]): string {
  return parts.every((part) => text(part) !== '') ? parts.map(text).join('/') : '';
}

/** In lower case, because names of owners have capitals, and repositories have none. Nothing, unless it is a repository. */
function names(value: unknown): readonly string[] {
  const name = text(value).toLowerCase();
  const reference = tryParseImageReference(`registry.invalid/${name}`);
  return reference !== undefined && reference.repository === name ? [name] : [];
}
