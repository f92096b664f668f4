import type { acceptedOptions, OptionKey } from '../../../src/config/table/options.ts';
import { notificationOptions } from '../../../src/config/table/notifications.ts';
import type { LabelName } from '../../../src/domain/settings/table/service-options.ts';

/** The test that shows the effect on containers of a real engine, or the reason why there is none. */
export type Effect =
  /** `file` is a path below `test/`, `title` the exact title there. */
  | { readonly kind: 'shown'; readonly file: string; readonly title: string }
  | { readonly kind: 'none'; readonly because: string };

const choosing = testsOf('integration/effects/choosing.test.ts');
const restraint = testsOf('integration/effects/waiting/restraint.test.ts');
const starting = testsOf('integration/effects/starting.test.ts');
const strangers = testsOf('integration/tags/strangers.test.ts');
const startFirst = testsOf('integration/effects/start-first.test.ts');
const canaries = testsOf('integration/effects/canary.test.ts');
const healthTimes = testsOf('integration/effects/waiting/health-times.test.ts');
const resources = testsOf('integration/effects/resources.test.ts');
const autoRemove = testsOf('integration/effects/auto-remove.test.ts');
const ownContainer = testsOf('integration/effects/own-container.test.ts');
const volumes = testsOf('integration/effects/volumes.test.ts');
const compose = testsOf('integration/effects/compose.test.ts');
const cooldown = testsOf('integration/effects/waiting/cooldown.test.ts');
const when = testsOf('integration/effects/waiting/when.test.ts');
const registries = testsOf('integration/effects/registries.test.ts');
const http = testsOf('integration/effects/http.test.ts');
const tagPolicies = testsOf('integration/tags/tag-policies.test.ts');
const chosenTags = testsOf('integration/tags/chosen-tags.test.ts');
const signedImages = testsOf('integration/tags/signed-images.test.ts');
const update = testsOf('integration/update.test.ts');
const rollbacks = testsOf('integration/rollback.test.ts');
const hooks = testsOf('integration/hooks.test.ts');
const holdingBack = testsOf('integration/holding-back.test.ts');
const releaseNotes = testsOf('integration/release-notes.test.ts');
const composeWritten = testsOf('image/compose-written.test.ts');
const keepOld = testsOf('integration/keep-old.test.ts');
const dataEnds = testsOf('integration/data-ends.test.ts');
const dataOptions = testsOf('integration/effects/data-options.test.ts');
const remote = testsOf('integration/engine/remote.test.ts');
const contexts = testsOf('integration/fleet/contexts.test.ts');
const options = testsOf('integration/command-line/options-on-an-engine.test.ts');
const startCheck = testsOf('integration/engine/start-check.test.ts');
const commandLine = testsOf('integration/command-line/command-line-on-an-engine.test.ts');
const privateRegistries = testsOf('integration/registries/private-registries.test.ts');
const failedVersions = testsOf('integration/recovery/failed-versions.test.ts');
const httpOnAnEngine = testsOf('conformance/on-an-engine.test.ts');
const journalKeys = testsOf('integration/recovery/sealed-journals.test.ts');
const realDeaths = testsOf('failures/real-deaths.test.ts');
const realRefusals = testsOf('failures/real-refusals.test.ts');

const services = testsOf('swarm/managers.test.ts');
const setUps = testsOf('failures/set-ups.test.ts');

const chosen = options('containers are chosen by name, image, label and scope');
const enabled = choosing('what the label enable forbids is never touched, and with --label-enable only what it allows');
const monitored = restraint(
  '--monitor-only adds to the label, which overrides it with --label-take-precedence; nothing is pulled',
);
const unpulled = restraint(
  '--no-pull adds to the label, which overrides it with --label-take-precedence; what the engine holds is taken',
);
const approved = holdingBack('--approve and its label let only what a person has approved be applied');
const composed = composeWritten(
  'a tag is written into the compose file after its update, below --compose-roots, unless --compose-files or the label says off',
);
const noted = releaseNotes(
  'notes of a newer version are read from the hosts that are named, with their tokens, and hold it back if they speak of breaking changes',
);
const windowed = holdingBack(
  '--window and its label let updates begin at their times only, unless --now says otherwise',
);
const scopes = restraint('instances of several scopes work side by side, each on its own containers');
const stopped = starting(
  'a stopped container is left alone, updated and left stopped, or updated and started, as options say',
);
const unstarted = starting('%s leaves the new container created, with name and policy, and the old one goes');
const oneByOne = starting('%s begins one when the one before has been proven, also with dependencies');
const canaryFirst = canaries(
  'thirty containers of one image: a bad release touches the labelled one only, a good one all',
);
const window = healthTimes('--health-window is how long a new container must run, and the label overrides it');
const limits = resources(
  'are those of the old one, but for what --cpu-copy-mode and --disable-memory-swappiness leave out',
);
const removed = autoRemove('is updated with --update-auto-remove or its label only, and is one with --rm again');
const moved = tagPolicies(
  '%s: a container moves to the highest tag of its policy, and a second run finds nothing to do',
);
const included = chosenTags(
  'only tags of --tag-include, and none of --tag-exclude, are moved to; labels override them',
);
const signed = signedImages('only what a key of --verify-key has signed is applied, and the label names the key');
const identified = signedImages('a signature under another name counts where an option or a label allows it');
const annotated = signedImages('a required annotation holds what lacks it, by an option or a label');
const rehearsed = update('update --dry-run --verify creates each new container aside, compares it and takes it back');
const users = hooks('run as the user that label, option or container say; 0 is root');
const moments = hooks('are run at the four moments, before the update in the old container and after it in the new');
const hanging = hooks('one that hangs, in any moment, is given up after its time');
const scheduled = when('by --schedule, in the hours of the time zone TZ');
const tls = remote('over TCP with TLS and a client certificate, and not without one');
const login = registries(
  'the login is found in HOME, and without one REPO_USER and REPO_PASS are it where REPO_HOST says so, also for the pull',
);
const httpProxy = registries('HTTP_PROXY leads to registries with plain HTTP, but not to those of NO_PROXY');
const podmanLogins = privateRegistries(
  'set-up logins of Podman: those of auth.json are found in each of its places, the longest key first',
);
const systemTrust = registries(
  'the authorities of the system are trusted, as are those of SSL_CERT_FILE, SSL_CERT_DIR and NODE_EXTRA_CA_CERTS together',
);
const privately = privateRegistries('is asked, and its image pulled, with the login of config.json');
const token = http('begin with the token only, and by GET with --http-api-watchtower-compat only');

const sealed = journalKeys('an update is repaired by whoever has its key');
const unsealed = journalKeys('without its seal it is reported, left and repaired when a person says so');

const reach = none('who reaches the API and how, not what is done there');
const reading = none('of commands that only read');
const printing = none('what is printed, not what is done');
const copied = dataOptions(
  '--data, its label and --data-folders say what is copied; a label of the image counts for nothing',
);
const dataLimits = dataOptions(
  '--data-max-size and --data-timeout refuse, and so do their labels; no label raises the size',
);
const dataKept = dataOptions(
  'a copy that --data-keep or its label keeps is listed, and a run removes it when its time is over',
);
const telling = none('who is told, and how, not what is done');
// The keys of the object that defines the type.
const tellings = Object.fromEntries(Object.keys(notificationOptions).map((key) => [key, telling] as const)) as Readonly<
  Record<keyof typeof notificationOptions, Effect>
>;

/** All options except for those without an effect. */
export const effectsOfOptions: Readonly<Record<Exclude<OptionKey, keyof typeof acceptedOptions>, Effect>> = {
  ...tellings,
  labelEnable: enabled,
  disableContainers: chosen,
  monitorImageNames: chosen,
  skipImageNames: chosen,
  enableContainersByLabel: chosen,
  disableContainersByLabel: chosen,
  includeStopped: stopped,
  includeRestarting: starting('a container that crashes over and over is updated with --include-restarting'),
  reviveStopped: stopped,
  swarm: services('ends, also where the leader dies in the middle'),
  scope: scopes,
  stateDir: sealed,
  journalKeyFile: sealed,
  unsealed,
  images: choosing('with --image only containers of that image, whatever its tag'),

  monitorOnly: monitored,
  noPull: unpulled,
  labelTakesPrecedence: monitored,
  approve: approved,
  releaseNotes: noted,
  releaseNotesHosts: noted,
  releaseNotesTokens: noted,
  window: windowed,
  now: windowed,
  decideForMs: holdingBack('a skip and a snooze hold one version back, for --for, until they are taken back'),
  cooldownMs: restraint('--cooldown-delay leaves an image that is too young for later'),
  tagPolicy: moved,
  tagInclude: included,
  tagExclude: included,
  verifyWith: signed,
  verifyIdentities: identified,
  verifyAnnotations: annotated,
  verifyKeys: signed,
  useComposeDependsOn: compose(
    'with restart: true nothing is restarted after an update that was rolled back, nor without --use-compose-depends-on',
  ),
  stopTimeoutMs: healthTimes('--stop-timeout decides when a container is killed that has no time of its own'),
  healthWindowMs: window,
  healthTimeoutMs: healthTimes('--health-timeout is how long it may take to become healthy'),
  healthProbe: starting('--health-probe brings the old container back where %s does not pass'),
  pullTimeoutMs: realDeaths(
    'failure 38: the engine is silent about a pull: it is given up, and the others are updated',
  ),
  startFirst: startFirst('the old one ends after the new one has started'),
  updateAutoRemove: removed,
  noSelfUpdate: ownContainer('is left as it is with --no-self-update'),
  finishUpdate: none('not for people: a helper container is told so what it was made for'),
  noRestart: unstarted,
  rollingRestart: oneByOne,
  keepOldMs: keepOld('is stopped, has no policy, and is nothing that anyone watches'),
  data: copied,
  dataFolders: copied,
  dataMaxBytes: dataLimits,
  dataTimeoutMs: dataLimits,
  dataKeepMs: dataKept,
  dataImage: dataOptions('--data-image names the image with the tools'),
  cleanup: update('--cleanup removes the image that nothing uses any more, and no other'),
  removeVolumes: volumes('gives the new container fresh anonymous volumes, and removes the old; named ones stay'),
  disableMemorySwappiness: limits,
  cpuCopyMode: limits,
  updateConcurrency: oneByOne,
  unproven: canaries('--unproven lets the wait for health of one be the start of others, and 0 does not'),
  canary: canaryFirst,
  retryFailed: failedVersions('(it %s) is held back until a person or a newer version says otherwise'),
  dryRun: update('update --dry-run says what would move and changes nothing'),
  verify: rehearsed,
  keepNew: dataEnds('failure 49: a pruned copy: --keep-new keeps the new version and its data'),
  withoutData: dataEnds('a pruned copy: --without-data starts the old version on the data as they are'),
  yes: rollbacks('asks before it goes forward again'),

  lifecycleHooks: hooks('are left alone without the option, and by a check'),
  lifecycleUserId: users,
  lifecycleGroupId: users,

  intervalMs: commandLine('run updates at its interval, and ends with 0 when it is told to stop'),
  schedule: scheduled,
  scheduleJitterMs: none('when a run begins, not what it does'),
  startCheck: startCheck('a service checks what it shows when it starts, once, and updates nothing'),
  updateOnStart: when('with --update-on-start at once, and not only when the interval is over'),
  runOnce: commandLine('run --run-once speaks through the log and ends with the outcome'),
  timeZone: scheduled,
  rounds: none('of the demonstration, which has no engine'),
  page: none('of the demonstration, which has no engine'),

  engines: none('of several engines, which ones; what is done there is as with one'),
  enginesAtOnce: none('how many engines at once, not what is done there'),
  waves: none('which of several engines comes first, not what is done there'),
  wavePauseMs: none('which of several engines comes first, not what is done there'),
  ignoreWaves: none('which of several engines comes first, not what is done there'),
  engineHost: remote('over ssh'),
  engineContexts: contexts('with their TLS files are the engines of a run'),
  engineTlsVerify: tls,
  engineCertPath: tls,
  engineApiVersion: options('--api-version is the version of every call that has one'),
  healthCheck: none('the engine is asked whether it answers, and nothing else'),
  dockerContext: contexts('DOCKER_CONTEXT and docker context use are followed, as by the docker command'),
  userRuntimeFolder: options('the socket of a rootless engine is found in XDG_RUNTIME_DIR, where there is no other'),

  dockerConfigFolder: privately,
  homeFolder: login,
  registryAuthFile: podmanLogins,
  configHomeFolder: podmanLogins,
  repoHost: login,
  repoUser: login,
  repoPassword: login,
  registryTlsSkip: realRefusals(
    'pitfall 6: --registry-tls-skip and its variable are heard, and neither is in force unasked',
  ),
  registryTlsMinVersion: registries('--registry-tls-min-version refuses a registry with older TLS'),
  registryCa: privately,
  sslCertFile: systemTrust,
  sslCertFolders: systemTrust,
  nodeCaFile: systemTrust,
  warnOnHeadFailure: none('the level of a line in the log'),
  checkConcurrency: registries('--check-concurrency is how many images are asked about at once'),
  httpProxy,
  httpsProxy: registries('HTTPS_PROXY leads to all others'),
  noProxy: httpProxy,

  composeFiles: composed,
  composeRoots: composed,
  httpEndpoints: httpOnAnEngine(
    'a check finds what an update then replaces, and the events, the history and the lists agree',
  ),
  httpToken: token,
  httpEventsToken: none('opens the events, which only tell'),
  httpWebhookSecret: none('opens the webhooks, which ask for a check'),
  httpWebhookUpdate: httpOnAnEngine(
    'a webhook of a registry is followed by a check, and by an update where it is told so',
  ),
  authHeader: reach,
  authGroupsHeader: reach,
  authViewers: reach,
  authOperators: reach,
  authAdmins: reach,
  oidcIssuer: reach,
  oidcClientId: reach,
  oidcClientSecret: reach,
  oidcScopes: reach,
  oidcRedirectUrl: reach,
  oidcGroupsClaim: reach,
  httpHost: reach,
  httpPort: reach,
  httpRateLimit: reach,
  httpCheckTimeoutMs: none('a check changes no container, however long it takes'),
  httpUpdateTimeoutMs: http('begin nothing more when --http-api-update-timeout is over'),
  httpTlsCert: reach,
  httpTlsKey: reach,
  httpTrustedProxies: reach,
  httpProxyHeader: reach,
  httpBasePath: reach,
  httpPasswordFile: reach,
  httpSessionRateLimit: reach,
  httpCorsOrigins: reach,
  httpPeriodicPolls: httpOnAnEngine('the schedule counts besides the API where it is told so'),
  httpWatchtowerCompat: token,
  httpContainerMetrics: none('which metrics are shown'),
  httpContainers: none('a list of containers, which changes none'),
  httpMetrics: none('numbers, which change nothing'),
  httpUpdate: token,

  remoteUrl: reading,
  remoteToken: reading,

  json: printing,
  exitCode: printing,
  all: printing,
  changed: printing,
  porcelain: printing,
  logLevel: printing,
  logFormat: printing,
  debug: printing,
  trace: printing,
  noColor: printing,
  terminalType: printing,
};

/** Labels by name, without their prefix. */
export const effectsOfLabels: Readonly<Record<LabelName, Effect>> = {
  enable: enabled,
  'monitor-only': monitored,
  'no-pull': unpulled,
  'no-restart': unstarted,
  'update-auto-remove': removed,
  'start-first': startFirst('with the label also where both write to the same volume, and with false never'),
  'depends-on': oneByOne,
  scope: scopes,
  canary: canaryFirst,
  'compose-files': composed,
  'from-registry': strangers('set-up image by a stranger: the label from-registry decides in both directions'),
  health: healthTimes('the label health=ignore makes the HEALTHCHECK of a container count for nothing'),
  'stop-signal': starting('the label stop-signal is heard where the engine can be told a signal; else that is said'),
  'stop-timeout': starting('the label stop-timeout decides when a container is killed'),
  approve: approved,
  'release-notes': noted,
  source: noted,
  'source-tag': noted,
  window: windowed,
  'cooldown-delay': cooldown('counts from when an image was seen to come, and the label overrides the option'),
  policy: moved,
  'tag-include': included,
  'tag-exclude': included,
  verify: signed,
  'verify-identity': identified,
  'verify-annotation': annotated,
  'health-window': window,
  'health-timeout': starting('the label health-timeout decides how long healthy may take'),
  'health-probe': starting('nothing is begun where the probe of a label cannot be asked'),
  notify: telling,
  'keep-old': keepOld('goes when its time is over, by whichever run comes next'),
  data: copied,
  'data-shared': dataOptions('data-shared counts only if both containers have it'),
  'data-max-size': dataLimits,
  'data-timeout': dataLimits,
  'data-keep': dataKept,
  'lifecycle.pre-check': moments,
  'lifecycle.pre-update': moments,
  'lifecycle.post-update': moments,
  'lifecycle.post-check': moments,
  'lifecycle.pre-check-timeout': hanging,
  'lifecycle.pre-update-timeout': hanging,
  'lifecycle.post-update-timeout': hanging,
  'lifecycle.post-check-timeout': hanging,
  'lifecycle.uid': users,
  'lifecycle.gid': users,
};

const replaces = compose('with restart: true a dependent is restarted after the update, others are not');

/** Labels of other updaters that have an effect. */
export const effectsOfForeignLabels: Readonly<Record<string, Effect>> = {
  'com.centurylinklabs.watchtower': restraint(
    'no container is stopped or removed because a label says that it is an updater',
  ),
  'com.centurylinklabs.zodiac.original-image': choosing(
    'a container is updated to the image that Zodiac noted on it, instead of its own',
  ),
  'com.docker.compose.depends_on': replaces,
  'com.docker.compose.oneoff': setUps(
    'failure 41: containers of other managers are not watched, with the reason, unless their own label asks',
  ),
  'com.docker.compose.project': replaces,
  'com.docker.swarm.task.id': choosing('a task of a Swarm service is left to Swarm'),
};

function testsOf(file: string): (title: string) => Effect {
  return (title) => ({ kind: 'shown', file, title });
}

function none(because: string): Effect {
  return { kind: 'none', because };
}
