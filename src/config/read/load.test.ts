import { mkdtempSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import * as fc from 'fast-check';
import { afterAll, describe, expect, test } from 'vitest';
import { commands, type CommandName } from '../table/commands.ts';
import { variablesOf } from '../table/environment.ts';
import { refusedValue, takesOption, type Option } from '../table/option.ts';
import { loadConfiguration, type Configuration } from './load.ts';
import { optionEntries, type acceptedOptions, type OptionKey } from '../table/options.ts';
import type { Settings } from './process-settings.ts';

const folder = mkdtempSync(join(tmpdir(), 'upkeep-config-'));
afterAll(() => rmSync(folder, { recursive: true }));

type EffectiveKey = Exclude<OptionKey, keyof typeof acceptedOptions>;

/** For each option: text, parsed value, and the setting that must change from its default. */
const effects: Readonly<
  Record<EffectiveKey, readonly [text: string, expected: unknown, of: (s: Settings) => unknown]>
> = {
  labelEnable: ['true', true, (s) => s.service.labelEnable],
  disableContainers: ['db, cache-.*', ['db', 'cache-.*'], (s) => s.service.disableContainers],
  monitorImageNames: ['nginx:.* app', ['nginx:.*', 'app'], (s) => s.service.monitorImageNames],
  skipImageNames: ['postgres:.*', ['postgres:.*'], (s) => s.service.skipImageNames],
  enableContainersByLabel: ['a=b c, d=', ['a=b c', 'd='], (s) => s.service.enableContainersByLabel],
  disableContainersByLabel: ['a=b', ['a=b'], (s) => s.service.disableContainersByLabel],
  includeStopped: ['T', true, (s) => s.service.includeStopped],
  includeRestarting: ['1', true, (s) => s.service.includeRestarting],
  reviveStopped: ['true', true, (s) => s.service.reviveStopped],
  swarm: ['true', true, (s) => s.service.swarm],
  scope: ['staging', 'staging', (s) => s.service.scope],
  stateDir: ['/data', '/data', (s) => s.state.folder],
  journalKeyFile: ['/run/key', '/run/key', (s) => s.state.journalKeyFile],
  unsealed: ['web,db', ['web', 'db'], (s) => s.state.unsealed],
  remoteUrl: ['https://server:8443/upkeep/', 'https://server:8443/upkeep', (s) => s.remote.url],
  remoteToken: ['hunter2', 'hunter2', (s) => s.remote.token],
  images: ['nginx,ghcr.io/acme/api:2', ['nginx', 'ghcr.io/acme/api:2'], (s) => s.request.images],
  engines: ['local', ['local'], (s) => s.request.engines],
  monitorOnly: ['TRUE', true, (s) => s.service.monitorOnly],
  noPull: ['true', true, (s) => s.service.noPull],
  labelTakesPrecedence: ['true', true, (s) => s.service.labelTakesPrecedence],
  approve: ['minor,unread', { from: 'minor', breaking: false, unread: true }, (s) => s.service.approve],
  releaseNotes: ['false', false, (s) => s.service.releaseNotes],
  releaseNotesHosts: ['gitea=git.acme.com', new Map([['git.acme.com', 'gitea']]), (s) => s.notes.hosts],
  releaseNotesTokens: ['github.com=secret', new Map([['github.com', 'secret']]), (s) => s.notes.tokens],
  window: ['02:00-05:00', expect.objectContaining({ text: '02:00-05:00' }), (s) => s.service.window],
  now: ['true', true, (s) => s.request.now],
  decideForMs: ['7d', 7 * 86_400_000, (s) => s.request.decideForMs],
  cooldownMs: ['1M', 30 * 86_400_000, (s) => s.service.cooldownMs],
  tagPolicy: ['minor', { kind: 'minor' }, (s) => s.service.tagPolicy],
  tagInclude: ['^v', expect.objectContaining({ kind: 'pattern', text: '^v' }), (s) => s.service.tagInclude],
  tagExclude: ['rc', expect.objectContaining({ kind: 'pattern', text: 'rc' }), (s) => s.service.tagExclude],
  verifyIdentities: [
    'mirror.test/app=ghcr.io/team/app',
    {
      kind: 'identities',
      text: 'mirror.test/app=ghcr.io/team/app',
      allowed: [{ repository: 'mirror.test/app', name: 'ghcr.io/team/app' }],
    },
    (s) => s.service.verifyIdentities,
  ],
  verifyAnnotations: [
    'env=prod',
    { kind: 'annotations', text: 'env=prod', required: [['env', 'prod']] },
    (s) => s.service.verifyAnnotations,
  ],
  verifyWith: ['team,ops', { kind: 'keys', names: ['team', 'ops'] }, (s) => s.service.verifyWith],
  verifyKeys: ['/keys/team.pub,/keys/ops.pub', ['/keys/team.pub', '/keys/ops.pub'], (s) => s.registry.verifyKeys],
  useComposeDependsOn: ['F', false, (s) => s.service.useComposeDependsOn],
  stopTimeoutMs: ['1m30s', 90_000, (s) => s.service.stopTimeoutMs],
  healthWindowMs: ['0', 0, (s) => s.service.healthWindowMs],
  healthTimeoutMs: ['300', 300_000, (s) => s.service.healthTimeoutMs],
  healthProbe: ['tcp://:80', { kind: 'tcp', port: 80 }, (s) => s.service.healthProbe],
  pullTimeoutMs: ['1.5m', 90_000, (s) => s.service.pullTimeoutMs],
  cleanup: ['true', true, (s) => s.service.cleanup],
  keepOldMs: ['2d', 172_800_000, (s) => s.service.keepOldMs],
  data: ['/data/, /config', { kind: 'paths', paths: ['/data', '/config'] }, (s) => s.service.data],
  dataFolders: ['/srv/apps,/mnt/x/', ['/srv/apps', '/mnt/x/'], (s) => s.service.dataFolders],
  dataMaxBytes: ['1.5GiB', 1_610_612_736, (s) => s.service.dataMaxBytes],
  dataTimeoutMs: ['2m', 120_000, (s) => s.service.dataTimeoutMs],
  dataKeepMs: ['2d', 172_800_000, (s) => s.service.dataKeepMs],
  dataImage: ['debian:stable-slim', 'debian:stable-slim', (s) => s.service.dataImage],
  startFirst: ['true', true, (s) => s.service.startFirst],
  updateAutoRemove: ['true', true, (s) => s.service.updateAutoRemove],
  noRestart: ['true', true, (s) => s.service.noRestart],
  rollingRestart: ['true', true, (s) => s.service.rollingRestart],
  noSelfUpdate: ['true', 'off', (s) => s.service.selfUpdate],
  removeVolumes: ['true', true, (s) => s.service.removeVolumes],
  disableMemorySwappiness: ['true', true, (s) => s.service.disableMemorySwappiness],
  cpuCopyMode: ['None', 'none', (s) => s.service.cpuCopyMode],
  warnOnHeadFailure: ['NEVER', 'info', (s) => s.log.failedChecks],
  updateConcurrency: ['1', 1, (s) => s.service.updateConcurrency],
  unproven: ['8', 8, (s) => s.service.unproven],
  canary: ['false', false, (s) => s.service.canary],
  dryRun: ['true', true, (s) => s.request.dryRun],
  yes: ['true', true, (s) => s.request.yes],
  keepNew: ['true', true, (s) => s.request.keepNew],
  withoutData: ['true', true, (s) => s.request.withoutData],
  retryFailed: ['true', true, (s) => s.request.retryFailed],
  verify: ['true', true, (s) => s.request.verify && s.request.dryRun],
  lifecycleHooks: ['true', true, (s) => s.service.lifecycleHooks],
  lifecycleUserId: ['0', 0, (s) => s.service.lifecycleUserId],
  lifecycleGroupId: ['1000', 1000, (s) => s.service.lifecycleGroupId],
  intervalMs: ['3600', 3_600_000, everyMs],
  schedule: ['@every 6h', 21_600_000, everyMs],
  scheduleJitterMs: ['5m', 300_000, (s) => s.run.scheduleJitterMs],
  startCheck: ['false', false, (s) => s.run.startCheck],
  updateOnStart: ['true', true, (s) => s.run.updateOnStart],
  runOnce: ['true', true, (s) => s.run.once],
  finishUpdate: ['one', 'one', (s) => s.run.finishUpdate?.transaction],
  timeZone: ['Europe/Berlin', true, () => true],
  healthCheck: ['true', true, (s) => s.run.healthCheck],
  rounds: ['3', 3, (s) => s.run.rounds],
  page: ['true', true, (s) => s.run.pageOnly],
  composeFiles: ['check', 'check', (s) => s.compose.mode],
  composeRoots: [
    '/opt/stacks/,/srv=/host/srv',
    [
      { named: '/opt/stacks', seen: undefined },
      { named: '/srv', seen: '/host/srv' },
    ],
    (s) => s.compose.roots,
  ],
  httpEndpoints: ['Health swagger', ['health', 'swagger'], (s) => s.http.groups],
  httpToken: ['secret', true, () => true],
  httpEventsToken: ['secret', true, () => true],
  httpWebhookSecret: ['secret', true, () => true],
  httpWebhookUpdate: ['true', true, (s) => s.http.webhookUpdate],
  authHeader: ['Remote-User', true, () => true],
  authGroupsHeader: ['X-Groups', true, () => true],
  authViewers: ['anna,@example.com', ['anna', '@example.com'], (s) => s.http.people.viewer],
  authOperators: ['group:the family', ['group:the family'], (s) => s.http.people.operator],
  authAdmins: ['anna@example.com', ['anna@example.com'], (s) => s.http.people.admin],
  oidcIssuer: ['https://auth.test/a', true, () => true],
  oidcClientId: ['upkeep', true, () => true],
  oidcClientSecret: ['secret', true, () => true],
  oidcScopes: ['groups email', true, () => true],
  oidcRedirectUrl: ['https://nas.test/v1/oidc-callback', true, () => true],
  oidcGroupsClaim: ['roles', true, () => true],
  httpHost: ['[::1]', '::1', (s) => s.http.host],
  httpPort: ['0', 0, (s) => s.http.port],
  httpRateLimit: ['7', 7, (s) => s.http.rateLimit],
  httpCheckTimeoutMs: ['1m', 60_000, (s) => s.http.checkTimeoutMs],
  httpUpdateTimeoutMs: ['1h', 3_600_000, (s) => s.http.updateTimeoutMs],
  httpTlsCert: ['cert.pem', true, () => true],
  httpTlsKey: ['key.pem', true, () => true],
  httpTrustedProxies: ['10.0.0.0/8 ::1', ['10.0.0.0/8', '::1'], (s) => s.http.trustedProxies],
  httpProxyHeader: ['X-Real-IP', 'X-Real-IP', (s) => s.http.proxyHeader],
  httpPasswordFile: ['key.pem', 'key.pem', (s) => s.http.passwordFile],
  httpSessionRateLimit: ['700', 700, (s) => s.http.sessionRateLimit],
  httpBasePath: ['tools/upkeep/', '/tools/upkeep', (s) => s.http.basePath],
  httpCorsOrigins: ['https://a.test,*', ['https://a.test', '*'], (s) => s.http.corsOrigins],
  httpPeriodicPolls: ['true', true, (s) => s.run.periodicPolls],
  httpWatchtowerCompat: ['true', true, (s) => s.http.watchtowerCompat],
  httpContainerMetrics: ['false', false, (s) => s.http.containerMetrics],
  httpContainers: ['false', true, () => true],
  httpMetrics: ['false', true, () => true],
  httpUpdate: ['false', true, () => true],
  waves: ['canary, 100%', { text: 'canary, 100%', pauseMs: 600_000 }, (s) => s.engine.waves],
  wavePauseMs: ['1h', undefined, (s) => s.engine.waves],
  ignoreWaves: ['true', true, (s) => s.request.ignoreWaves],
  enginesAtOnce: ['3', 3, (s) => s.engine.enginesAtOnce],
  engineHost: ['unix:///run/podman/podman.sock', 'unix:///run/podman/podman.sock', (s) => s.engine.host],
  engineContexts: ['default', [{ name: 'default', host: 'unix:///var/run/docker.sock' }], (s) => s.engine.engines],
  engineTlsVerify: ['false', undefined, (s) => s.engine.tls],
  engineCertPath: ['/nowhere', undefined, (s) => s.engine.tls],
  engineApiVersion: ['v1.45', '1.45', (s) => s.engine.apiVersion],
  dockerContext: ['default', [], (s) => s.engine.engines],
  userRuntimeFolder: ['/run/user/7', '/run/user/7', (s) => s.engine.userRuntimeFolder],
  dockerConfigFolder: ['/docker', '/docker/config.json', (s) => s.registry.dockerConfigPath],
  homeFolder: ['/home/me', '/home/me/.docker/config.json', (s) => s.registry.dockerConfigPath],
  registryAuthFile: ['/auth.json', '/auth.json', (s) => s.registry.authFiles.chosen],
  configHomeFolder: ['/home/me/.cfg', '/home/me/.cfg/containers/auth.json', (s) => s.registry.authFiles.usual.at(-1)],
  repoHost: ['registry.example:5000', 'registry.example:5000', (s) => s.registry.repoHost],
  repoUser: ['robot', 'robot', (s) => s.registry.repoUser],
  repoPassword: ['hunter2', 'hunter2', (s) => s.registry.repoPass],
  registryTlsSkip: ['true', true, (s) => s.registry.tlsSkip],
  registryTlsMinVersion: ['TLS1.3', 'TLSv1.3', (s) => s.registry.tlsMinVersion],
  registryCa: [join(folder, 'ca.pem'), [Buffer.from('PEM\n')], (s) => s.registry.extraCa],
  sslCertFile: ['/certs/all.pem', '/certs/all.pem', (s) => s.registry.systemTrust.file],
  sslCertFolders: ['/certs:/more', ['/certs', '/more'], (s) => s.registry.systemTrust.folders],
  nodeCaFile: ['/certs/own.pem', '/certs/own.pem', (s) => s.registry.systemTrust.nodeFile],
  checkConcurrency: ['16', 16, (s) => s.service.checkConcurrency],
  httpProxy: ['http://proxy:1', 'http://proxy:1', (s) => s.registry.proxy.http],
  httpsProxy: ['http://proxy:2', 'http://proxy:2', (s) => s.registry.proxy.https],
  noProxy: ['localhost,.internal', ['localhost', '.internal'], (s) => s.registry.proxy.no],
  notificationUrl: ['a=b://c?to=d,e f://g', ['a=b://c?to=d,e', 'f://g'], (s) => s.notifications.urls],
  notificationStyle: ['Watchtower', 'watchtower', (s) => s.notifications.style],
  notificationsLevel: ['FATAL', 'error', (s) => s.notifications.level],
  notificationTargetLevels: ['ops=WARNING,a=debug', { ops: 'warn', a: 'debug' }, (s) => s.notifications.levelOf],
  notificationsDelayMs: ['90', 90_000, (s) => s.notifications.delayMs],
  notificationsHostname: ['nas', 'nas', (s) => s.notifications.hostname],
  notificationTemplate: ['{{.}}', '{{.}}', (s) => s.notifications.template],
  notificationTemplateFile: [join(folder, 'ca.pem'), 'PEM\n', (s) => s.notifications.template],
  previewTemplate: [join(folder, 'ca.pem'), 'PEM\n', (s) => s.notifications.template],
  notificationReport: ['true', true, (s) => s.notifications.report],
  notificationSplitByContainer: ['true', true, (s) => s.notifications.splitByContainer],
  notificationTitleTag: ['home', 'home', (s) => s.notifications.titleTag],
  notificationSkipTitle: ['true', true, (s) => s.notifications.skipTitle],
  notificationLogStdout: ['true', true, (s) => s.notifications.logStdout],
  noStartupMessage: ['true', false, (s) => s.notifications.startupMessage],
  notificationRepeat: ['true', true, (s) => s.notifications.repeat],
  notificationDigest: ['8:00', true, (s) => s.notifications.digest !== undefined],
  notificationQuietHours: ['22:00-07:00', true, (s) => s.notifications.quietHours !== undefined],
  notificationRetryMs: ['5s', 5000, (s) => s.notifications.retryMs],
  notifications: ['shoutrrr', 'watchtower', (s) => s.notifications.style],
  emailFrom: ['a@b', true, () => true],
  emailTo: ['a@b', true, () => true],
  emailDelayMs: ['7', 7000, (s) => s.notifications.delayMs],
  emailServer: ['mail', true, () => true],
  emailServerPort: ['587', true, () => true],
  emailServerTlsSkipVerify: ['true', true, () => true],
  emailServerUser: ['me', true, () => true],
  emailServerPassword: ['hunter2', ['hunter2'], (s) => s.notifications.legacySecrets],
  emailSubjectTag: ['home', 'home', (s) => s.notifications.titleTag],
  slackHookUrl: ['https://a.test/b', ['https://a.test/b'], (s) => s.notifications.legacySecrets],
  slackIdentifier: ['me', true, () => true],
  slackChannel: ['here', true, () => true],
  slackIconEmoji: [':a:', true, () => true],
  slackIconUrl: ['https://a.test/b', true, () => true],
  msteamsHook: ['https://a.test/b', ['https://a.test/b'], (s) => s.notifications.legacySecrets],
  gotifyUrl: ['https://a.test/b', true, () => true],
  gotifyToken: ['hunter2', ['hunter2'], (s) => s.notifications.legacySecrets],
  gotifyTlsSkipVerify: ['true', true, () => true],
  json: ['true', true, (s) => s.output.json],
  exitCode: ['true', true, (s) => s.output.exitCode],
  all: ['true', true, (s) => s.output.all],
  changed: ['true', true, (s) => s.output.changed],
  porcelain: ['V1', 'v1', (s) => s.output.porcelain],
  logLevel: ['WARNING', 'warn', (s) => s.log.level],
  logFormat: ['logfmt', 'logfmt', (s) => s.log.format],
  debug: ['true', 'debug', (s) => s.log.level],
  trace: ['true', 'debug', (s) => s.log.level],
  noColor: ['true', false, (s) => s.output.colour],
  terminalType: ['dumb', false, (s) => s.output.live],
};
writeFileSync(join(folder, 'ca.pem'), 'PEM\n');

/** A text that the option must refuse; undefined if it accepts any text. */
function badText(option: Option): string | undefined {
  switch (option.kind) {
    case 'boolean':
      return option.anyValueIsTrue === true ? undefined : 'maybe';
    case 'integer':
      return option.min < 0 ? 'some' : '-1';
    case 'duration':
      return 'soon';
    case 'choice':
      return 'nonsense';
    case 'parsed':
      return 'Not: /\\ This';
    case 'list':
    case 'text':
      return option.accepts === undefined ? undefined : '"Not: /\\ This';
  }
}

const entries = optionEntries.flatMap(([key, option]) =>
  hasEffect(key) ? [{ key, option, command: option.commands[0] ?? 'run' }] : [],
);
const flagged = entries.filter(({ option }) => option.flag !== undefined);
const variables = entries.flatMap((entry) => variablesOf(entry.option).map(({ name }) => ({ ...entry, name })));

describe('every option', () => {
  test('has a row here, or has no effect', () => {
    const missing = optionEntries.filter(([key, option]) => option.withoutEffect === undefined && !hasEffect(key));
    expect(missing.map(([key]) => key)).toEqual([]);
  });

  const wordsOf = (command: string) =>
    commands.some(({ name, usage }) => name === command && usage.startsWith('NAME')) ? [command, 'web'] : [command];

  test.each(flagged.filter(({ option }) => option.env))(
    '--$option.flag is taken before UPKEEP_*, that before WATCHTOWER_*, that before the default',
    ({ key, option, command }) => {
      const [text] = effects[key];
      const names = variablesOf(option).map(({ name }) => name);
      expect(names).toEqual(names.toSorted((one, other) => prefixRank(one) - prefixRank(other)));
      const sourceWith = (argv: readonly string[], given: readonly string[]) =>
        commandOf([...wordsOf(command), ...argv], Object.fromEntries(given.map((name) => [name, text]))).options.find(
          ({ name }) => name === option.flag,
        )?.source;
      expect(sourceWith([`--${option.flag}=${text}`], names)).toBe(`--${option.flag}`);
      for (const [index, name] of names.entries()) expect(sourceWith([], names.slice(index))).toBe(name);
      expect(sourceWith([], [])).toBe('default');
    },
  );

  test.each(flagged)('--$option.flag sets it', ({ key, option, command }) => {
    const [text, expected, of] = effects[key];
    expect(of(settingsOf([...wordsOf(command), `--${option.flag}=${text}`]))).toEqual(expected);
    if (option.kind !== 'boolean')
      expect(of(settingsOf([...wordsOf(command), `--${option.flag}`, text]))).toEqual(expected);
  });

  test.each(flagged.filter(({ option }) => option.short))(
    '-$option.short is short for it',
    ({ key, option, command }) => {
      const [text, expected, of] = effects[key];
      expect(of(settingsOf([command, `-${option.short}=${text}`]))).toEqual(expected);
      const words = option.kind === 'boolean' ? [`-${option.short}`] : [`-${option.short}`, text];
      if (option.kind !== 'boolean' || /^(true|t|1)$/i.test(text))
        expect(of(settingsOf([command, ...words]))).toEqual(expected);
    },
  );

  test.each(variables)('$name sets it', ({ key, name, command }) => {
    const [text, expected, of] = effects[key];
    expect(of(settingsOf([command], { [name]: text }))).toEqual(expected);
    expect(settingsOf([command], { [name]: '' })).toEqual(settingsOf([command]));
    expect(settingsOf([command], { [name]: ' ' })).toEqual(settingsOf([command]));
  });

  test.each(variables.filter(({ option }) => badText(option) !== undefined))(
    '$name with a bad value stops the command with 2, a service with 1, and says what is accepted',
    ({ name, option, command }) => {
      const bad = badText(option) ?? '';
      const faults = faultsOf([command], { [name]: bad });
      expect(faults.exitCode).toBe(command === 'run' ? 1 : 2);
      expect(faults.message).toMatch(new RegExp(`^Cannot use ${name}(?: .+)?: expected [^.]+`));
      expect(faults.message.split('\n')).toHaveLength(1);
    },
  );

  test.each(flagged.filter(({ option }) => badText(option) !== undefined))(
    '--$option.flag with a bad value stops the command with 2, a service with 1',
    ({ option, command }) => {
      const faults = faultsOf([...wordsOf(command), `--${option.flag}=${badText(option)}`]);
      expect(faults.exitCode).toBe(command === 'run' ? 1 : 2);
      expect(faults.message).toMatch(new RegExp(`Cannot use --${option.flag}[ :]`));
    },
  );

  test.each(flagged)('--$option.flag is refused by commands it has no meaning for', ({ key, option }) => {
    for (const { name } of commands.filter((command) => !takesOption(command.name, option))) {
      const faults = faultsOf([name, `--${option.flag}=${effects[key][0]}`]);
      expect(faults.exitCode).toBe(2);
      expect(faults.message).toContain(`Cannot use --${option.flag} with "upkeep ${name}": it belongs to "upkeep `);
    }
  });

  test('names, short names and variables are given once', () => {
    const all = optionEntries.map(([, option]) => option);
    const flags = [...all.flatMap(({ flag, short }) => [flag, short]), 'help', 'h', 'version', 'V'].filter(Boolean);
    expect(new Set(flags).size).toBe(flags.length);
    const names = all.flatMap((option) => variablesOf(option).map(({ name }) => name));
    expect(new Set(names).size).toBe(names.length);
  });
});

describe('precedence', () => {
  const given = { UPKEEP_SCOPE: 'own', WATCHTOWER_SCOPE: 'alias' };

  test.each([
    [['--scope', 'flag'], given, 'flag'],
    [[], given, 'own'],
    [[], { WATCHTOWER_SCOPE: 'alias' }, 'alias'],
    [[], { ...given, UPKEEP_SCOPE: '' }, 'alias'],
    [[], {}, undefined],
    [['--scope='], given, undefined],
    [['--scope', 'a', '--scope', 'b'], given, 'b'],
    [['--scope', 'none'], given, 'none'],
  ])('%j with %j gives %j', (flags, environment, expected) => {
    expect(settingsOf(['run', ...flags], environment).service.scope).toBe(expected);
  });

  test.each([
    [{ WATCHTOWER_CLEANUP: '"true"' }, (s: Settings) => s.service.cleanup, true],
    [{ UPKEEP_MONITOR_ONLY: "'yes'" }, (s: Settings) => s.service.monitorOnly, true],
    [{ WATCHTOWER_SCOPE: '"staging"' }, (s: Settings) => s.service.scope, 'staging'],
    [{ UPKEEP_DISABLE_CONTAINERS: '"a,b"' }, (s: Settings) => s.service.disableContainers, ['a', 'b']],
    [{ UPKEEP_COOLDOWN_DELAY: '"3d"' }, (s: Settings) => s.service.cooldownMs, 259_200_000],
    [{ DOCKER_HOST: '"tcp://engine:2375"' }, (s: Settings) => s.engine.host, 'tcp://engine:2375'],
    [{ WATCHTOWER_DISABLE_CONTAINERS: '"db","cache"' }, (s: Settings) => s.service.disableContainers, ['db', 'cache']],
    [{ WATCHTOWER_DISABLE_CONTAINERS: '"db" "cache"' }, (s: Settings) => s.service.disableContainers, ['db', 'cache']],
    [{ UPKEEP_DISABLE_CONTAINERS: "'db', cache" }, (s: Settings) => s.service.disableContainers, ['db', 'cache']],
    [{ UPKEEP_SKIP_IMAGE_NAMES: '"a:.*","b"' }, (s: Settings) => s.service.skipImageNames, ['a:.*', 'b']],
    [
      { UPKEEP_DISABLE_CONTAINERS_BY_LABEL: '"a=b","c="' },
      (s: Settings) => s.service.disableContainersByLabel,
      ['a=b', 'c='],
    ],
    [{ UPKEEP_NOTIFICATION_TEMPLATE: '"{{.}}"' }, (s: Settings) => s.notifications.template, '"{{.}}"'],
  ])(
    'set-up quoted variables: quotation marks that compose passes on are no part of a value: %j',
    (environment, of, expected) => {
      const loaded = loadConfiguration(['run'], environment);
      expect(loaded.kind === 'command' && of(loaded.settings)).toEqual(expected);
      expect(loaded).toMatchObject({ warnings: [] });
    },
  );

  test.each([
    ['UPKEEP_SCOPE', '"nas'],
    ['UPKEEP_SCOPE', "nas'"],
    ['WATCHTOWER_DISABLE_CONTAINERS', '"db,cache'],
    ['WATCHTOWER_DISABLE_CONTAINERS', '“db”'],
    ['UPKEEP_MONITOR_IMAGE_NAMES', 'nginx"'],
    ['UPKEEP_SKIP_IMAGE_NAMES', '"postgres:.*","redis'],
    ['UPKEEP_DISABLE_CONTAINERS_BY_LABEL', '"tier=db'],
    ['UPKEEP_ENABLE_CONTAINERS_BY_LABEL', 'tier="web'],
  ])('a quotation mark that is left in names is a fault: %s=%s', (name, text) => {
    expect(loadConfiguration(['run'], { [name]: text })).toMatchObject({
      kind: 'faults',
      message: expect.stringMatching(`^Cannot use ${name} .*without quotation marks`),
    });
  });

  test('those around a secret are named', () => {
    const environment = { UPKEEP_HTTP_API_TOKEN: '"hunter22-hunter22"', WATCHTOWER_SCHEDULE: '"0 0 4 * * *"' };
    const loaded = loadConfiguration(['run', '--http-api-endpoints', 'update'], environment);
    expect(loaded).toMatchObject({
      kind: 'command',
      warnings: ['The quotation marks around the value of UPKEEP_HTTP_API_TOKEN are not part of it'],
    });
    expect(loaded.kind === 'command' && JSON.stringify(loaded.settings.http)).not.toContain(String.raw`\"hunter22`);
  });

  test('the logins of Podman are looked for where Podman looks', () => {
    const userId = process.getuid?.() ?? 0;
    const placesIn = (environment: Record<string, string>) => settingsOf([], environment).registry.authFiles;
    expect(placesIn({ HOME: '/home/me', XDG_RUNTIME_DIR: '/run/user/7' })).toEqual({
      chosen: undefined,
      usual: [
        '/run/user/7/containers/auth.json',
        `/run/containers/${userId}/auth.json`,
        '/home/me/.config/containers/auth.json',
      ],
    });
    expect(placesIn({ REGISTRY_AUTH_FILE: '/a.json' })).toEqual({
      chosen: '/a.json',
      usual: [`/run/containers/${userId}/auth.json`],
    });
  });

  test('a bad value that a flag or a better variable overrules is not looked at', () => {
    expect(settingsOf(['run', '--cleanup'], { UPKEEP_CLEANUP: 'maybe' }).service.cleanup).toBe(true);
    expect(settingsOf([], { UPKEEP_CLEANUP: '1', WATCHTOWER_CLEANUP: 'maybe' }).service.cleanup).toBe(true);
  });

  test('repeated list flags add up and replace the variable', () => {
    const settings = settingsOf(['-x', 'a,b', '-x=c d'], { UPKEEP_DISABLE_CONTAINERS: 'z' });
    expect(settings.service.disableContainers).toEqual(['a', 'b', 'c', 'd']);
  });

  test('repeated flags about signatures add up, and an empty one drops no rule', () => {
    const { service } = settingsOf(
      [
        '--verify-annotation',
        'env=prod',
        '--verify-annotation=by=x',
        '--verify-identity=a.test/a=b.test/a,c.test/a=b.test/a',
      ],
      { UPKEEP_VERIFY_ANNOTATION: 'z=z' },
    );
    expect(service.verifyAnnotations).toMatchObject({ text: 'env=prod,by=x' });
    expect(service.verifyIdentities).toMatchObject({ text: 'a.test/a=b.test/a,c.test/a=b.test/a' });
    for (const flag of ['--verify-key', '--verify-annotation', '--verify-identity'])
      for (const args of [[flag, ''], [`${flag}=`], [flag, ' ']])
        expect(load(args, {})).toMatchObject({ kind: 'faults' });
  });

  test('variables of the Watchtower family that are in effect are named, others not', () => {
    const loaded = load([], {
      WATCHTOWER_CLEANUP: '1',
      WATCHTOWER_SCOPE: 'x',
      UPKEEP_SCOPE: 'y',
      WATCHTOWER_TIMEOUT: '5',
    });
    expect(loaded).toMatchObject({ kind: 'command', aliases: ['WATCHTOWER_TIMEOUT', 'WATCHTOWER_CLEANUP'] });
    expect(load(['--cleanup'], { WATCHTOWER_CLEANUP: '1' })).toMatchObject({ aliases: [] });
  });
});

describe('booleans', () => {
  test.each([
    [['--cleanup'], true],
    [['--cleanup=false'], false],
    [['--cleanup=0'], false],
    [['--no-cleanup'], false],
    [['--cleanup', '--no-cleanup'], false],
    [['-c'], true],
    [['-c=f'], false],
    [['-cS'], true],
  ])('%j is %j', (flags, expected) => {
    expect(settingsOf(flags, { UPKEEP_CLEANUP: 'true' }).service.cleanup).toBe(expected);
  });

  test('--no-pull and --no-color are names of their own, and have no further negation', () => {
    expect(settingsOf(['--no-pull']).service.noPull).toBe(true);
    expect(settingsOf(['--no-pull=false']).service.noPull).toBe(false);
    expect(faultsOf(['--no-no-pull']).exitCode).toBe(2);
    expect(faultsOf(['--no-scope']).message).toContain('Cannot use --no-scope: there is no such option');
    expect(faultsOf(['--pull']).exitCode).toBe(2);
  });

  test('a separate value is refused instead of becoming the name of a container', () => {
    expect(faultsOf(['--cleanup', 'false', 'web']).message).toBe(
      'Cannot use --cleanup with a separate value: write --cleanup=false',
    );
    expect(faultsOf(['-c', '0']).message).toContain('write --cleanup=0');
    expect(settingsOf(['--cleanup', 'web']).service).toMatchObject({ cleanup: true, names: ['web'] });
  });

  test.each(['0', 'false', 'anything'])('NO_COLOR=%s means no colours, as no-color.org asks', (text) => {
    expect(settingsOf(['check'], { NO_COLOR: text }).output.colour).toBe(false);
    expect(settingsOf(['check', '--no-color=false'], { NO_COLOR: text }).output.colour).toBe(true);
  });
});

describe('the command', () => {
  test.each<[readonly string[], CommandName, readonly string[]]>([
    [[], 'run', []],
    [['web', '/db'], 'run', ['web', 'db']],
    [['run', 'check'], 'run', ['check']],
    [['--', 'check'], 'run', ['check']],
    [['notify-upgrade'], 'notify', ['upgrade']],
    [['check', '--', '--json'], 'check', ['--json']],
    [['--debug', 'check', 'web'], 'check', ['web']],
    [['update', 'api-.*'], 'update', ['api-.*']],
    [['ruby'], 'run', ['ruby']],
    [['update-center'], 'run', ['update-center']],
  ])('%j is %s of %j', (argv, command, names) => {
    const { settings, ...loaded } = commandOf(argv);
    expect(loaded.command).toBe(command);
    expect(command === 'run' ? settings.service.names : settings.request.containers).toEqual(names);
  });

  test.each([
    ['chekc', 'did you mean "check"?'],
    ['udpate', 'did you mean "update"?'],
    ['Demo', 'did you mean "demo"?'],
    ['hlep', 'did you mean "help"?'],
    [
      'serve',
      'the commands are run, check, update, rollback, recover, data, approve, skip, snooze, unskip, containers, history, events, notes, notify, config, token, password, demo',
    ],
  ])('%s is no command, rather than the name of a container to watch', (word, hint) => {
    const faults = faultsOf([word]);
    expect(faults.exitCode).toBe(2);
    expect(faults.message).toContain(`Cannot run "${word}": there is no such command; ${hint}`);
    expect(faults.message).toContain(`"upkeep run ${word}"`);
  });

  test.each(['rollback', 'notes', 'approve', 'skip', 'snooze', 'unskip'])('%s needs a name', (command) => {
    expect(faultsOf([command])).toMatchObject({
      exitCode: 2,
      message: `Cannot run "upkeep ${command}": no container is named, as in "upkeep ${command} web"`,
    });
  });

  test.each(['--host=unix:///run/engine.sock', '--state-dir=/data'])(
    '%s is about this machine, even if a variable names a service; not beside --url',
    (flag) => {
      const environment = { UPKEEP_URL: 'https://server:8080', UPKEEP_TOKEN: 'secret' };
      const local = loadConfiguration(['skip', 'web', flag], environment);
      expect(local).toMatchObject({ settings: { remote: { url: undefined, token: undefined } }, warnings: [] });
      const remote = loadConfiguration(['skip', 'web', flag, '--url', 'https://other:8080'], environment);
      expect(remote).toMatchObject({
        settings: { remote: { url: 'https://other:8080', token: 'secret' } },
        warnings: [`${flag.split('=')[0]} has no effect with --url`],
      });
    },
  );

  test.each(['--host=', '--state-dir= ', '--host=,'])(
    '%j names nothing, so it does not override UPKEEP_URL',
    (flag) => {
      const environment = { UPKEEP_URL: 'https://server:8080', UPKEEP_TOKEN: 'secret' };
      expect(loadConfiguration(['skip', 'web', flag], environment)).toMatchObject({
        settings: { remote: { url: 'https://server:8080', token: 'secret' } },
        warnings: [],
      });
    },
  );

  test('demo takes no names', () => {
    expect(faultsOf(['demo', 'web'])).toMatchObject({
      exitCode: 2,
      message: expect.stringContaining('takes no names'),
    });
  });

  test('notes takes one name, and drops no other without a word', () => {
    expect(faultsOf(['notes', 'web', 'db', 'cache'])).toMatchObject({
      exitCode: 2,
      message: 'Cannot use "db": "upkeep notes" takes one name\nCannot use "cache": "upkeep notes" takes one name',
    });
    expect(load(['notes', 'web']).kind).toBe('command');
  });

  test('demo does not look at the variables of the engine', () => {
    expect(load(['demo'], { DOCKER_HOST: 'nonsense', UPKEEP_CLEANUP: 'nonsense' }).kind).toBe('command');
  });

  test.each([
    [['--help'], undefined],
    [['-h'], undefined],
    [['-help'], undefined],
    [['help'], undefined],
    [['help', 'check'], 'check'],
    [['check', '--help'], 'check'],
    [['--help', 'update', '--nonsense'], 'update'],
    [['--version', '--help'], undefined],
  ])('%j asks for help', (argv, command) => {
    expect(load(argv)).toEqual({ kind: 'help', command, isAll: false });
  });

  test.each([[['run', '--help', '--all']], [['--all', 'help', 'run']]])('%j asks for all options', (argv) => {
    expect(load(argv)).toEqual({ kind: 'help', command: 'run', isAll: true });
  });

  test.each([[['--version']], [['-V']], [['version']], [['check', '--version']]])('%j asks for the version', (argv) => {
    expect(load(argv)).toEqual({ kind: 'version' });
  });
});

describe('faults', () => {
  test('all of them are told at once, each naming option, value and what is accepted', () => {
    const faults = faultsOf(['check', '--clenup', '--image', '--json', '--log-format', 'xml'], {
      UPKEEP_CHECK_CONCURRENCY: '0',
      DOCKER_HOST: 'localhost:2375',
    });
    expect(faults.exitCode).toBe(2);
    expect(faults.message.split('\n')).toEqual([
      'Cannot use --clenup: there is no such option; did you mean --cleanup?',
      'Cannot use --image: it needs a value (if "--json" is meant, write --image=--json)',
      'Cannot use DOCKER_HOST "localhost:2375": expected an address such as unix:///var/run/docker.sock, tcp://server:2376 or ssh://user@server',
      'Cannot use UPKEEP_CHECK_CONCURRENCY "0": expected a whole number from 1 to 1024',
      'Cannot use --log-format "xml": expected one of auto, pretty, json, logfmt',
    ]);
  });

  test.each([
    [['--scope'], 'Cannot use --scope: it needs a value'],
    [['-t'], 'Cannot use -t: it needs a value'],
    [['-z'], 'Cannot use -z: there is no such option'],
    [
      ['--stop-timeout', '-5'],
      'Cannot use --stop-timeout: it needs a value (if "-5" is meant, write --stop-timeout=-5)',
    ],
    [['--scope', '-canary'], 'Cannot use --scope: it needs a value (if "-canary" is meant, write --scope=-canary)'],
    [['--no-cleanup=true'], 'Cannot use --no-cleanup with a value: it means --cleanup=false'],
    [
      ['check', '--token-file', '/run/token'],
      'Cannot use --token-file: there is no such option; write --token=FILE, which reads the file',
    ],
    [
      ['--http-api-tokenfile=x'],
      'Cannot use --http-api-tokenfile: there is no such option; write --http-api-token=FILE, which reads the file',
    ],
    [['check', '--tokenhunter2'], 'Cannot use --token with a text joined to it: write --token=VALUE'],
    [['--__proto__=1'], 'Cannot use --__proto__: there is no such option'],
    [['--constructor'], 'Cannot use --constructor: there is no such option'],
  ])('%j is wrong usage: %s', (argv, message) => {
    expect(faultsOf(argv)).toEqual({ kind: 'faults', exitCode: 2, message });
  });

  test('a secret is not repeated', () => {
    expect(refusedValue('UPKEEP_TOKEN', 'hunter2', 'a token', true).message).toBe(
      'Cannot use UPKEEP_TOKEN: expected a token',
    );
  });

  test.each([
    [['ssh://me:hunter2@nas'], 'Cannot use --host "ssh://***@nas": it holds a password'],
    [['near=ssh://nas', 'far=tcp://me:hunter2@far:1'], 'Cannot use --host "far=tcp://***@far:1": it holds a password'],
    [['ssh://me:hunter2@nas', 'nonsense'], 'Cannot use --host "ssh://***@nas,nonsense": expected an address'],
    [['me:hunter2@nas'], 'Cannot use --host "***@nas": expected an address'],
  ])('a password in the address of an engine is refused and not repeated: %j', (hosts, message) => {
    const faults = faultsOf(['config', ...hosts.flatMap((host) => ['--host', host])]);
    expect(faults.message).toContain(message);
    expect(faults.message).not.toContain('hunter2');
  });

  test.each<[readonly string[], Readonly<Record<string, string>>, string]>([
    [['--url=http://h/?token=hunter2'], {}, 'Cannot use --url "http://h/?***": expected an address'],
    [[], { UPKEEP_URL: 'HTTP://h/#hunter2' }, 'Cannot use UPKEEP_URL "HTTP://h/#***": expected an address'],
    [['--url', 'ftp://me:a@hunter2@h'], {}, 'Cannot use --url "ftp://***@h": expected an address'],
    [['--url', 'http://me:hunter2'], {}, 'Cannot use --url "http://me:***": expected an address'],
    [
      ['--host', 'ssh://me@nas:hunter2@h'],
      {},
      'Cannot use --host "ssh://***@h": it holds a password; use a key of ssh, or TLS',
    ],
    [['--host', 'x', '--host', 'tcp://me:hunter2 x@h'], {}, 'Cannot use --host "x,tcp://***@h": expected an address'],
    [['--tokn', 'hunter2'], {}, 'Cannot use --tokn: there is no such option; did you mean --token?'],
    [['-token', 'hunter2'], {}, 'Cannot use -token: there is no such option; did you mean --token?'],
    [['-token=hunter2'], {}, 'Cannot use -token: there is no such option; did you mean --token?'],
    [['--token hunter2'], {}, 'Cannot use --token with a text joined to it: write --token=VALUE'],
    [['--token:hunter2'], {}, 'Cannot use --token with a text joined to it: write --token=VALUE'],
    [['--tokenhunter2'], {}, 'Cannot use --token with a text joined to it: write --token=VALUE'],
    [['-phunter2'], {}, 'Cannot use -p: there is no such option'],
    [['-p--hunter2'], {}, 'Cannot use -p: there is no such option'],
    [['--TOKEN', 'hunter2'], {}, 'Cannot use --TOKEN: there is no such option; did you mean --token?'],
    [['--x:hunter2'], {}, 'Cannot use --x: there is no such option'],
    [['http://me:hunter2@h'], {}, 'Cannot use "http://***@h": "upkeep config" takes no names'],
    [['--registry-ca', '-----BEGIN KEY-----\nhunter2'], {}, 'Cannot use --registry-ca: it needs a value'],
    [
      [],
      { UPKEEP_REGISTRY_CA: '-----BEGIN KEY-----\nhunter2' },
      'Cannot read the file of UPKEEP_REGISTRY_CA: there is no such file; give the path of a file, not its content',
    ],
    [['-n', 'discord://hunter2@1'], {}, 'Cannot use -n: expected some of email, slack'],
  ])('no message repeats the secret of %j %j', (argv, environment, message) => {
    const faults = faultsOf(['config', ...argv], environment);
    expect(faults.message.split('\n')).toEqual([expect.stringContaining(message)]);
    expect(faults.message).not.toContain('hunter2');
  });

  test('the name of a command after an unknown option is no value of it', () => {
    expect(faultsOf(['--clenup', 'history', '--url', 'http://h']).message).toBe(
      'Cannot use --clenup: there is no such option; did you mean --cleanup?',
    );
  });

  test.each(['', ',', ' '])('an empty selection is refused, because it would mean everything: %j', (text) => {
    expect(faultsOf(['update', '--engine', text, '--image', text]).message.split('\n')).toEqual([
      `Cannot use --image "${text}": expected image references such as nginx or ghcr.io/acme/api:2`,
      `Cannot use --engine "${text}": expected names of engines, as --host gives them`,
    ]);
  });

  test.each(['a', 'a:', '@', '://', 'a://b:', '?a'])('a value of any length is refused at once: of %j', (text) => {
    const { message } = refusedValue('--x', text.repeat(500_000), 'a word', false);
    expect(message).toMatch(/^Cannot use --x ".{1,200}": expected a word$/);
  });

  test('the digest of an image is repeated', () => {
    const image = `app:1@sha256:${'a'.repeat(64)}`;
    expect(refusedValue('--x', image, 'a word', false).message).toContain(image);
  });

  test('a strange value cannot reach the terminal as it is', () => {
    const faults = faultsOf([], {
      UPKEEP_SCOPE: 'a',
      DOCKER_API_VERSION: '\u001b[2J\nx',
      REPO_PASS: '/run/secrets/missing',
    });
    expect(faults.message).toContain(String.raw`DOCKER_API_VERSION "\x1b[2J\nx"`);
    expect(faults.message).not.toContain('\u001b');
  });

  test('no command line and no environment makes it throw', () => {
    const words = fc.oneof(
      fc.string({ maxLength: 20 }),
      fc.constantFrom('--', '-', '--cleanup', '--scope', '-t', '-c=', 'check', '--image', '--no-', '=', '--=x', '-cSt'),
    );
    const names = fc.constantFrom(...variables.map(({ name }) => name), 'UPKEEP_X', '__proto__');
    fc.assert(
      fc.property(
        fc.array(words, { maxLength: 8 }),
        fc.dictionary(names, fc.string({ maxLength: 20 })),
        (argv, environment) => {
          expect(['command', 'help', 'version', 'faults']).toContain(load(argv, environment).kind);
        },
      ),
    );
  });
});

describe('warnings', () => {
  test('a variable that looks like ours and is none is named, with the one that may be meant', () => {
    expect(
      load([], {
        UPKEEP_CLENUP: '1',
        UPKEEP_HTTP_API_TOKEN_FILE: '/run/token',
        WATCHTOWER_NOTIFY: 'email',
        PATH: '/bin',
      }),
    ).toMatchObject({
      warnings: [
        'Variable UPKEEP_CLENUP is not known and has no effect; did you mean UPKEEP_CLEANUP?',
        'Variable UPKEEP_HTTP_API_TOKEN_FILE is not known and has no effect; did you mean UPKEEP_HTTP_API_TOKEN?',
        'Variable WATCHTOWER_NOTIFY is not known and has no effect',
      ],
    });
  });

  test('an option that needs another one is told so', () => {
    expect(load([], { WATCHTOWER_REVIVE_STOPPED: 'true' })).toMatchObject({
      warnings: ['WATCHTOWER_REVIVE_STOPPED has no effect without --include-stopped'],
    });
    expect(load(['--revive-stopped', '-S'])).toMatchObject({ warnings: [] });
  });

  test('what Kubernetes and Docker links put beside a service named upkeep is not ours', () => {
    const links = {
      UPKEEP_SERVICE_HOST: '10.0.0.1',
      UPKEEP_SERVICE_PORT: '8080',
      UPKEEP_SERVICE_PORT_HTTP: '8080',
      UPKEEP_PORT: 'tcp://10.0.0.1:8080',
      UPKEEP_PORT_8080_TCP: 'tcp://10.0.0.1:8080',
      UPKEEP_PORT_8080_TCP_ADDR: '10.0.0.1',
    };
    expect(load([], links)).toMatchObject({ warnings: [] });
  });
});

describe('files', () => {
  test('a value that names a file stands for its trimmed content', () => {
    const path = join(folder, 'password');
    writeFileSync(path, '  hunter2\n');
    expect(settingsOf([], { REPO_PASS: path }).registry.repoPass).toBe('hunter2');
    expect(settingsOf([], { REPO_PASS: 'src' }).registry.repoPass).toBe('src');
    expect(settingsOf([], { REPO_PASS: 'pass/word' }).registry.repoPass).toBe('pass/word');
  });

  test.each([
    ['REPO_PASS', (path: string) => load(['check'], { REPO_PASS: path })],
    ['REPO_USER', (path: string) => load(['check'], { REPO_USER: path })],
    ['--token', (path: string) => load(['config', '--token', path], {})],
    ['--notification-gotify-token', (path: string) => load(['--notification-gotify-token', path], {})],
    ['--notification-url', (path: string) => load(['--notification-url', path], {})],
  ])('of %s a path is never the value itself', (source, loadWith) => {
    for (const [path, why] of [
      [join(folder, 'none'), 'there is no such file'],
      [folder, 'it is a folder'],
    ] as const)
      expect(loadWith(path)).toMatchObject({
        kind: 'faults',
        exitCode: expect.toBeOneOf([1, 2]),
        message: expect.stringContaining(`Cannot read the file of ${source} "${path}": ${why}`),
      });
  });

  test('an empty file and a missing secret stop the start', () => {
    const path = join(folder, 'empty');
    writeFileSync(path, '\n');
    expect(faultsOf([], { REPO_PASS: path }).message).toEqual(
      expect.stringContaining(`Cannot read the file of REPO_PASS "${path}": the file is empty`),
    );
    expect(faultsOf([], { REPO_PASS: '/run/secrets/missing' }).message).toContain('there is no such file');
    expect(faultsOf(['--registry-ca', folder]).message).toContain('it is not a file');
  });
});

describe('TLS to the engine', () => {
  const certs = join(folder, 'certs');
  mkdirSync(certs);
  for (const file of ['ca.pem', 'cert.pem', 'key.pem']) writeFileSync(join(certs, file), file);
  const pem = { ca: Buffer.from('ca.pem'), cert: Buffer.from('cert.pem'), key: Buffer.from('key.pem') };
  const remote = { DOCKER_HOST: 'tcp://server:2376' };

  test.each([
    [{}, undefined],
    [{ DOCKER_CERT_PATH: certs }, { ...pem, verify: false }],
    [
      { DOCKER_CERT_PATH: certs, DOCKER_TLS_VERIFY: '1' },
      { ...pem, verify: true },
    ],
    [{ DOCKER_TLS_VERIFY: '1' }, { verify: true }],
    [{ DOCKER_HOST: 'https://server:2376' }, { verify: true }],
    [{ DOCKER_HOST: 'unix:///x', DOCKER_CERT_PATH: '/nowhere', DOCKER_TLS_VERIFY: '1' }, undefined],
  ])('%j gives %j', (environment, tls) => {
    expect(settingsOf([], { ...remote, ...environment }).engine.tls).toEqual(tls);
  });

  test('half a pair of certificate and key is refused, and so is a folder without any', () => {
    const half = join(folder, 'half');
    mkdirSync(half);
    expect(faultsOf([], { ...remote, DOCKER_CERT_PATH: half }).message).toContain('expected a folder with ca.pem, or');
    writeFileSync(join(half, 'cert.pem'), 'x');
    expect(faultsOf([], { ...remote, DOCKER_CERT_PATH: half }).message).toContain('both cert.pem and key.pem');
  });
});

describe('the schedule', () => {
  const nextAfter = (from: string, argv: readonly string[], environment: Readonly<Record<string, string>> = {}) => {
    const { schedule } = settingsOf(argv, environment).run;
    if (schedule.kind === 'interval') return schedule.words;
    return new Date(schedule.nextRunAfter(Date.parse(from)) ?? Number.NaN).toISOString();
  };

  test('is an interval of a day unless told otherwise', () => {
    expect(nextAfter('', [])).toBe('every 1d');
    expect(nextAfter('', ['-i', '90'])).toBe('every 1m30s');
    expect(nextAfter('', [], { WATCHTOWER_SCHEDULE: ' ' })).toBe('every 1d');
  });

  test('is in the time zone of TZ', () => {
    const argv = ['-s', '0 4 * * *'];
    expect(nextAfter('2026-07-01T00:00Z', argv, { TZ: 'Europe/Berlin' })).toBe('2026-07-01T02:00:00.000Z');
    expect(nextAfter('2026-07-01T00:00Z', argv, { TZ: ':Asia/Kolkata' })).toBe('2026-07-01T22:30:00.000Z');
    expect(nextAfter('2026-07-01T00:00Z', argv, { TZ: ':/usr/share/zoneinfo/Asia/Kolkata' })).toBe(
      '2026-07-01T22:30:00.000Z',
    );
    expect(nextAfter('2026-07-01T00:00Z', ['-s', 'TZ=UTC 0 4 * * *'], { TZ: 'Europe/Berlin' })).toBe(
      '2026-07-01T04:00:00.000Z',
    );
  });

  test('is in the time zone of --timezone, whatever TZ says; one that is none is refused', () => {
    const argv = ['-s', '0 4 * * *', '--timezone', 'Asia/Kolkata'];
    expect(nextAfter('2026-07-01T00:00Z', argv, { TZ: 'Europe/Berlin' })).toBe('2026-07-01T22:30:00.000Z');
    expect(faultsOf(['--timezone', 'Europe/Nowhere'])).toEqual({
      kind: 'faults',
      exitCode: 1,
      message: 'Cannot use --timezone "Europe/Nowhere": expected a time zone such as Europe/Berlin or UTC',
    });
  });

  test('is delayed by up to 30 seconds, unless it names a second or the jitter is given', () => {
    const jitterOf = (...argv: readonly string[]) => settingsOf(argv).run.scheduleJitterMs;
    expect(jitterOf('-s', '0 4 * * *')).toBe(30_000);
    expect(jitterOf('-s', 'TZ=Europe/Berlin 0 4 * * *')).toBe(30_000);
    expect(jitterOf('-s', '@daily')).toBe(30_000);
    expect(jitterOf('-s', 'CRON_TZ=UTC  17 0 4 * * *')).toBe(0);
    expect(jitterOf('-s', '17 0 4 * * *', '--schedule-jitter', '2m')).toBe(120_000);
    expect(jitterOf('-s', '0 4 * * *', '--schedule-jitter', '0s')).toBe(0);
  });

  test("and an interval of one's own are one too many", () => {
    expect(faultsOf(['--schedule', '@daily'], { WATCHTOWER_POLL_INTERVAL: '300' })).toEqual({
      kind: 'faults',
      exitCode: 1,
      message: 'Cannot use both WATCHTOWER_POLL_INTERVAL and --schedule: both set the time of the next update',
    });
  });

  test('that cannot be read, or never comes up, is refused', () => {
    for (const text of ['0 4 * *', '0 0 30 2 *', 'TZ=Nowhere @daily'])
      expect(faultsOf(['--schedule', text]).message).toMatch(
        /^Cannot use --schedule ".+": expected a schedule with at least one run/,
      );
  });
});

test.each([
  [['run'], 'on'],
  [['run', '--http-api-endpoints', 'health'], 'unless-published'],
  [['run', '--no-self-update', '--http-api-endpoints', 'health'], 'off'],
  [['run', '--run-once'], 'not-by-this-command'],
  [['update'], 'not-by-this-command'],
  [['rollback', 'upkeep'], 'not-by-this-command'],
])('%j: self-update is %s', (argv, expected) => {
  expect(settingsOf(argv).service.selfUpdate).toBe(expected);
});

test('the defaults of the options are those of the domain', async () => {
  const { defaultSettings } = await import('../../domain/settings/effective-settings.ts');
  expect(settingsOf([]).service).toEqual(defaultSettings);
});

function hasEffect(key: OptionKey): key is EffectiveKey {
  return key in effects;
}

function prefixRank(name: string): number {
  return ['UPKEEP_', 'WATCHTOWER_', ''].findIndex((prefix) => name.startsWith(prefix));
}

function everyMs({ run: { schedule } }: Settings): number | undefined {
  return schedule.kind === 'interval' ? schedule.everyMs : undefined;
}

function load(argv: readonly string[], environment: Readonly<Record<string, string>> = {}): Configuration {
  return loadConfiguration(argv, environment);
}

function commandOf(argv: readonly string[], environment: Readonly<Record<string, string>> = {}) {
  const loaded = load(argv, environment);
  if (loaded.kind !== 'command') throw new Error(`not a command: ${JSON.stringify(loaded)}`);
  return loaded;
}

function settingsOf(argv: readonly string[], environment: Readonly<Record<string, string>> = {}): Settings {
  return commandOf(argv, environment).settings;
}

function faultsOf(argv: readonly string[], environment: Readonly<Record<string, string>> = {}) {
  const loaded = load(argv, environment);
  if (loaded.kind !== 'faults') throw new Error(`no faults: ${JSON.stringify(loaded)}`);
  return loaded;
}

test.each([
  ['http://server:8080', true],
  ['http://192.168.1.4:8080/upkeep', true],
  ['http://[2001:db8::1]:8080', true],
  ['http://127.0.0.1.example.com', true],
  ['https://server', false],
  ['http://127.0.0.1:8080', false],
  ['http://127.1.2.3', false],
  ['http://localhost:8080', false],
  ['http://[::1]:8080', false],
])('a token for %s over plain HTTP is warned about: %s', (url, isWarned) => {
  const loaded = loadConfiguration(['containers', '--url', url], { UPKEEP_TOKEN: 'secret-of-the-service' });
  const warnings = loaded.kind === 'command' ? loaded.warnings : ['faults'];
  expect(warnings).toEqual(isWarned ? [expect.stringContaining('UPKEEP_TOKEN is sent to --url over plain HTTP')] : []);
  const without = loadConfiguration(['containers', '--url', url], {});
  expect(without).toMatchObject({ kind: 'command', warnings: [] });
});

describe('--data', () => {
  test('says in a rollback what becomes of the data, and elsewhere what is copied', () => {
    expect(settingsOf(['rollback', 'web', '--data', 'Restore']).request.rollbackData).toBe('restore');
    expect(settingsOf(['rollback', 'web', '--data=leave']).request.rollbackData).toBe('leave');
    const { request, service } = settingsOf(['rollback', 'web'], { UPKEEP_DATA: 'volumes' });
    expect([request.rollbackData, service.data]).toEqual([undefined, { kind: 'volumes' }]);
  });

  test.each([
    [{ UPKEEP_DATA: 'volumes' }, { kind: 'volumes' }],
    [{ UPKEEP_DATA: '/data,/db' }, { kind: 'paths', paths: ['/data', '/db'] }],
    [{}, { kind: 'none' }],
  ])('of a rollback leaves what %j says to copy', (environment, data) => {
    const { request, service } = settingsOf(['rollback', 'web', '--data', 'leave'], environment);
    expect([request.rollbackData, service.data]).toEqual(['leave', data]);
  });

  test.each([
    [['update', '--data', 'restore'], 'Cannot use --data "restore": expected none, volumes or paths'],
    [['run', '--data=leave'], 'Cannot use --data "leave": expected none, volumes or paths'],
    [['rollback', 'web', '--data', 'volumes'], 'Cannot use --data "volumes": expected restore or leave'],
  ])('%j is refused', (argv, message) => {
    expect(faultsOf(argv, {}).message).toContain(message);
  });
});
