import { speaksApi } from '../api-version.ts';
import { sameToEngine } from '../../text/canonical.ts';
import { hasHostNetwork, sharesNetwork } from './network/network-mode.ts';
import { ownCommand } from './own-command.ts';
import { ownEnvironment } from './own-environment.ts';
import { ownLabels } from './own-labels.ts';
import type { KnownRequest } from './request/request.ts';

/** The container's `Config` without values inherited from its image. */
export function ownConfig(request: KnownRequest): Readonly<Record<string, unknown>> {
  const { Config } = request.container.settings;
  const fields = Object.entries({ Labels: {}, ...Config })
    .map(([field, value]) => [field, (rules.get(field) ?? (() => value))(request)] as const)
    .filter(([, value]) => value !== undefined);
  return Object.fromEntries(fields);
}

/** Undefined leaves the field out. A field without a rule is copied. */
type Rule = (request: KnownRequest) => unknown;

/**
 * Fields that the engine takes from the image when they are empty:
 * https://github.com/moby/moby/blob/v28.0.0/daemon/commit.go
 */
const rules: ReadonlyMap<string, Rule> = new Map<string, Rule>([
  ['Image', ({ image }) => image],
  ['Hostname', ownHostname],
  ['Domainname', ownDomainname],
  ['MacAddress', ownMacAddress],
  ['User', unlessInherited('User')],
  ['WorkingDir', unlessInherited('WorkingDir')],
  ['StopSignal', unlessInherited('StopSignal')],
  ['Env', ownEnvironment],
  ['Cmd', (request) => ownCommand(request).Cmd],
  ['Entrypoint', (request) => ownCommand(request).Entrypoint],
  ['Labels', ownLabels],
  ['ExposedPorts', ownExposedPorts],
  ['Volumes', ownVolumes],
  ['Healthcheck', ownHealthcheck],
  ['OnBuild', omitted],
  ['ArgsEscaped', omitted],
]);

/** A field for builds or for Windows; a container does not use it. */
function omitted(): undefined {
  return undefined;
}

function unlessInherited(field: 'User' | 'WorkingDir' | 'StopSignal'): Rule {
  return ({ container, oldImage }) => {
    const value = container.settings.Config[field];
    return value === '' || sameToEngine(value, oldImage.config[field]) ? undefined : value;
  };
}

/**
 * The default is the short id, or the engine's own name on its own network. In the network of another container the
 * host name is given.
 */
function ownHostname({ container, engineName }: KnownRequest): string | undefined {
  const { Config, HostConfig } = container.settings;
  const hostname = Config.Hostname ?? '';
  if (hostname === '' || hostname === container.id.slice(0, 12)) return undefined;
  if (HostConfig.UTSMode === 'host' || sharesNetwork(container)) return undefined;
  return hasHostNetwork(container) && hostname === engineName ? undefined : hostname;
}

/** In the network of another container the engine writes that one's domain name at each start. */
function ownDomainname({ container }: KnownRequest): string | undefined {
  return sharesNetwork(container) ? undefined : container.settings.Config.Domainname;
}

/** From API 1.44 it belongs to the endpoint; see `configuredMacAddress()`. */
function ownMacAddress({ container, apiVersion }: KnownRequest): string | undefined {
  return speaksApi(apiVersion, '1.44') || sharesNetwork(container)
    ? undefined
    : container.settings.Config.MacAddress || undefined;
}

/**
 * Without exposure, a published port is silently not published. It stays exposed even if the new image does not expose
 * it.
 */
function ownExposedPorts({ container, oldImage }: KnownRequest): unknown {
  const { Config, HostConfig } = container.settings;
  if (sharesNetwork(container)) return undefined;
  const published = HostConfig.PortBindings ?? {};
  const inherited = oldImage.config.ExposedPorts ?? {};
  return someOf(Config.ExposedPorts, (port) => !Object.hasOwn(inherited, port) || Object.hasOwn(published, port));
}

/** The data of anonymous volumes is kept by `mountsFor()`. */
function ownVolumes({ container, oldImage }: KnownRequest): unknown {
  const inherited = oldImage.config.Volumes ?? {};
  return someOf(container.settings.Config.Volumes, (path) => !Object.hasOwn(inherited, path));
}

function someOf(record: object | null | undefined, isKept: (key: string) => boolean): object | undefined {
  const kept = Object.entries(record ?? {}).filter(([key]) => isKept(key));
  return kept.length === 0 ? undefined : Object.fromEntries(kept);
}

/** Compares each field, because the engine inherits every field that is 0 or empty. */
function ownHealthcheck({ container, oldImage, apiVersion }: KnownRequest): unknown {
  const inherited = oldImage.config.Healthcheck ?? {};
  const own = Object.entries(container.settings.Config.Healthcheck ?? {}).filter(
    ([field, value]) =>
      !sameToEngine(value, inherited[field]) && (field !== 'StartInterval' || speaksApi(apiVersion, '1.44')),
  );
  return own.length === 0 ? undefined : Object.fromEntries(own);
}
