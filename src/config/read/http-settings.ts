import { join } from 'node:path';
import type { Given } from './command-line.ts';
import {
  endpointGroups,
  readClientSecret,
  readTokens,
  type EndpointGroup,
  type HttpSettings,
  type TokenSource,
} from '../../domain/settings/http-settings.ts';
import type { Fault } from '../table/option.ts';
import type { OptionValues } from '../table/options.ts';
import { readFileValue, readNamedFile } from './secrets.ts';
import { shownPath } from '../../domain/text/hidden-secrets.ts';

type Notes = { readonly faults: Fault[]; readonly alarms: string[]; readonly warnings: string[] };

/** HTTP settings from all options of the API. While the API is off, none of them is an error. */
export function makeHttpSettings(given: Given, notes: Notes): HttpSettings {
  const { values } = given;
  const groups = enabledGroups(given, notes);
  // In the demonstration all groups are on by default.
  const isOn = groups.length > 0 || given.command === 'demo';
  const made = madeTokens(groups, given);
  const token = made.api ?? (isOn || given.command === 'token' ? tokenSource('httpToken', given, notes) : undefined);
  const eventsToken = made.events ?? (isOn ? tokenSource('httpEventsToken', given, notes) : undefined);
  // The demonstration generates its own tokens.
  if (given.command !== 'demo') requireTokens(groups, given, made, notes);
  return {
    host: values.httpHost?.replace(/^\[(.*)\]$/, '$1'),
    port: values.httpPort,
    groups,
    token,
    eventsToken,
    webhookSecret: isOn ? tokenSource('httpWebhookSecret', given, notes) : undefined,
    webhookUpdate: values.httpWebhookUpdate,
    madeTokens: [made.api, made.events].flatMap((source) => source?.path ?? []),
    passwordFile: passwordFile(given, isOn, notes),
    sessionRateLimit: values.httpSessionRateLimit,
    rateLimit: values.httpRateLimit > 0 ? values.httpRateLimit : defaultRateLimit,
    checkTimeoutMs: values.httpCheckTimeoutMs,
    updateTimeoutMs: values.httpUpdateTimeoutMs,
    tls: isOn ? tlsFiles(given, notes) : undefined,
    trustedProxies: values.httpTrustedProxies,
    proxyHeader: values.httpProxyHeader,
    corsOrigins: values.httpCorsOrigins,
    watchtowerCompat: values.httpWatchtowerCompat,
    basePath: normalBasePath(values.httpBasePath),
    containerMetrics: values.httpContainerMetrics,
    ...peopleSettings(given, isOn, notes),
  };
}

/** The people who may come in, and who says who they are. */
function peopleSettings(
  { values, sourceOf }: Given,
  isOn: boolean,
  { faults, warnings }: Notes,
): Pick<HttpSettings, 'people' | 'authHeader' | 'oidc'> {
  const people = { viewer: values.authViewers, operator: values.authOperators, admin: values.authAdmins };
  const { authHeader: user, oidcIssuer: issuer, oidcClientId: clientId } = values;
  const nobody = { people, authHeader: undefined, oidc: undefined };
  if (!isOn || (user === undefined && issuer === undefined && clientId === undefined)) return nobody;
  const fault = (message: string) => faults.push({ kind: 'value', message });
  if ((issuer === undefined) !== (clientId === undefined))
    fault(`Cannot sign people in with OpenID Connect: it needs both --oidc-issuer and --oidc-client-id`);
  if (Object.values(people).every((list) => list.length === 0))
    fault('Cannot sign people in: nobody has a role; list them with --auth-admins, --auth-operators or --auth-viewers');
  if (user !== undefined && values.httpTrustedProxies.length === 0)
    warnings.push(
      `Nobody is believed who sends the header of ${sourceOf('authHeader')}: name its proxy with --http-api-trusted-proxies`,
    );
  if (issuer?.startsWith('http:') === true)
    warnings.push(
      `The issuer of ${sourceOf('oidcIssuer')} is asked without TLS, so others in its network can be anyone`,
    );
  return {
    people,
    authHeader:
      user === undefined ? undefined : { user: user.toLowerCase(), groups: values.authGroupsHeader.toLowerCase() },
    oidc:
      issuer === undefined || clientId === undefined
        ? undefined
        : {
            issuer,
            clientId,
            clientSecret: clientSecret(values.oidcClientSecret, sourceOf('oidcClientSecret'), faults),
            scopes: [...new Set(['openid', ...values.oidcScopes])],
            redirectUrl: values.oidcRedirectUrl,
            groupsClaim: values.oidcGroupsClaim,
          },
  };
}

function clientSecret(text: string | undefined, source: string, faults: Fault[]): TokenSource | undefined {
  if (text === undefined) return undefined;
  const read = readFileValue(source, text);
  if (read.kind === 'fault') faults.push(read.fault);
  if (read.kind === 'fault' || read.value === text) return { kind: 'value', value: text.trim() };
  const path = text.trim();
  const found = readClientSecret(read.value);
  if (found.kind === 'refused') {
    const message = `Cannot use the file of ${source}${shownPath(path)}: ${found.why}; write the secret alone into it`;
    faults.push({ kind: 'value', message });
  }
  return { kind: 'file', path };
}

/** `upkeep/` is `/upkeep`, and `/` is nothing. */
function normalBasePath(text = ''): string {
  const path = text.replaceAll(/^\/+|\/+$/g, '');
  return path === '' ? '' : `/${path}`;
}

const defaultRateLimit = 60;

/** Enabled by deprecated options. */
const legacy = { containers: 'httpContainers', metrics: 'httpMetrics', update: 'httpUpdate' } as const;

function enabledGroups({ values, sourceOf }: Given, { faults, warnings }: Notes): readonly EndpointGroup[] {
  const named = values.httpEndpoints.map((name) => name.toLowerCase());
  const all = named.includes('all');
  if (all && named.some((name) => name !== 'all')) {
    const message = `Cannot use ${sourceOf('httpEndpoints')} "${named.join(',')}": "all" must be the only value`;
    faults.push({ kind: 'value', message });
  }
  const switched = Object.entries(legacy).filter(([, key]) => values[key]);
  if (switched.length > 0) {
    const flags = switched.map(([name]) => `--http-api-${name}`).join(', ');
    const instead = `--http-api-endpoints ${switched.map(([name]) => name).join(',')}`;
    warnings.push(`${flags} ${switched.length === 1 ? 'is' : 'are'} deprecated: use ${instead}`);
  }
  const wanted = new Set([...named, ...switched.map(([name]) => name)]);
  return endpointGroups.filter((name) => all || wanted.has(name));
}

function tokenSource(
  key: 'httpToken' | 'httpEventsToken' | 'httpWebhookSecret',
  { values, sourceOf }: Given,
  { faults, warnings }: Notes,
): TokenSource | undefined {
  const text = values[key];
  if (text === undefined) return undefined;
  const source = sourceOf(key);
  const read = readFileValue(source, text);
  if (read.kind === 'fault') {
    faults.push(read.fault);
    return undefined;
  }
  if (read.value === text) {
    if (text.trim().length < shortestToken) warnings.push(`The token of ${source} ${shortWords}`);
    return { kind: 'value', value: text.trim() };
  }
  const path = text.trim();
  // Not the trimmed text: a refusal names the line in the file.
  const file = readNamedFile(source, path);
  if (file.kind === 'fault') {
    faults.push(file.fault);
    return undefined;
  }
  const found = readTokens(file.value.toString());
  if (found.kind === 'refused') {
    const message = `Cannot use the file of ${source}${shownPath(path)}: ${found.why}; ${tokenFileRemedy}`;
    faults.push({ kind: 'value', message });
    return undefined;
  }
  if (key === 'httpWebhookSecret' && found.tokens.some(({ rights }) => rights !== undefined)) {
    const message = `Cannot use the file of ${source}${shownPath(path)}: a secret of webhooks has no role`;
    faults.push({ kind: 'value', message });
    return undefined;
  }
  const isShort = found.tokens.some(({ token }) => token.length < shortestToken);
  if (isShort) warnings.push(`The token of ${source} ${shortWords}`);
  return { kind: 'file', path };
}

const tokenFileRemedy = 'write one token alone, or a line "NAME: TOKEN" for each holder; # begins a comment';

/** In characters. */
const shortestToken = 16;
const shortWords = `has fewer than ${shortestToken} characters and may be guessed: "openssl rand -hex 32" makes a better one`;

const open: readonly EndpointGroup[] = ['health', 'swagger', 'dashboard'];

const withOwnToken: readonly EndpointGroup[] = ['events', 'webhooks'];

/** The files of the tokens that the first start makes in the state folder, because none is given. */
type MadeTokens = { readonly [Kind in 'api' | 'events']?: TokenSource & { readonly kind: 'file' } };

function madeTokens(groups: readonly EndpointGroup[], { values, command }: Given): MadeTokens {
  const { stateDir } = values;
  if (stateDir === undefined || (command !== 'run' && command !== 'config')) return {};
  const needs = (name: EndpointGroup): boolean =>
    !withOwnToken.includes(name) && (!open.includes(name) || name === 'dashboard');
  return {
    ...(isMissing(values.httpToken) && groups.some(needs) && { api: { kind: 'file', path: join(stateDir, 'token') } }),
    ...(isMissing(values.httpEventsToken) &&
      groups.includes('events') && { events: { kind: 'file', path: join(stateDir, 'events-token') } }),
  };
}

function passwordFile({ values, sourceOf }: Given, isOn: boolean, { faults }: Notes): string | undefined {
  const { httpPasswordFile: path, stateDir } = values;
  if (path === undefined) return stateDir === undefined ? undefined : join(stateDir, 'password');
  const read = isOn ? readNamedFile(sourceOf('httpPasswordFile'), path) : undefined;
  if (read?.kind === 'fault') faults.push(read.fault);
  return path;
}

function requireTokens(groups: readonly EndpointGroup[], { values }: Given, made: MadeTokens, { faults }: Notes): void {
  const needing = groups.filter((name) => !withOwnToken.includes(name) && !open.includes(name));
  if (needing.length > 0 && made.api === undefined && isMissing(values.httpToken))
    faults.push(missing(needing, 'http-api-token'));
  if (groups.includes('events') && made.events === undefined && isMissing(values.httpEventsToken)) {
    faults.push(missing(['events'], 'http-api-events-token'));
  }
  // With "all", the endpoint is on if there is a secret.
  const namesWebhooks = values.httpEndpoints.some((name) => name.toLowerCase() === 'webhooks');
  if (namesWebhooks && isMissing(values.httpWebhookSecret))
    faults.push(missing(['webhooks'], 'http-api-webhook-secret'));
}

function isMissing(token: OptionValues['httpToken']): boolean {
  return token === undefined || token.trim() === '';
}

function missing(groups: readonly string[], flag: string): Fault {
  const variable = `UPKEEP_${flag.toUpperCase().replaceAll('-', '_')}`;
  return {
    kind: 'value',
    message: `Cannot serve ${groups.join(', ')} without a token: give one with --${flag} or ${variable}`,
  };
}

function tlsFiles({ values, sourceOf }: Given, { faults, alarms }: Notes): HttpSettings['tls'] {
  const { httpTlsCert: certFile, httpTlsKey: keyFile } = values;
  for (const [key, path] of [['httpTlsCert', certFile] as const, ['httpTlsKey', keyFile] as const]) {
    const read = path === undefined ? undefined : readNamedFile(sourceOf(key), path);
    if (read?.kind === 'fault') faults.push(read.fault);
  }
  if (certFile !== undefined && keyFile !== undefined) return { certFile, keyFile };
  if (certFile !== undefined) alarms.push(plainWords('httpTlsCert', '--http-api-tls-key'));
  if (keyFile !== undefined) alarms.push(plainWords('httpTlsKey', '--http-api-tls-cert'));
  return undefined;

  function plainWords(given: 'httpTlsCert' | 'httpTlsKey', missingFlag: string): string {
    const why = `${missingFlag} is missing, which ${sourceOf(given)} needs`;
    return `The API is served over plain HTTP, without TLS: ${why}`;
  }
}
