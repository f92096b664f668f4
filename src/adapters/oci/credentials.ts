import type { Clock, Log } from '../../domain/outside/outside.ts';
import { quoted } from '../../domain/text/printable.ts';
import {
  askHelper,
  entryFor,
  hubKey,
  registryOfKey,
  createDockerConfigFile,
  type HelperAnswer,
  type Credential,
  type DockerConfig,
  type ConfigPlace,
} from './docker-config.ts';
import { createLru } from '../../domain/text/plain-data.ts';
import { createSingleFlight } from './single-flight.ts';

export type CredentialOptions = {
  readonly clock: Clock;
  readonly log?: Log | undefined;
  /** Path of Docker's `config.json`; undefined: none. */
  readonly dockerConfigPath?: string | undefined;
  /** Podman's files of logins; absent: none. */
  readonly authFiles?: AuthFiles | undefined;
  /** Whether the engine is Podman, whose own files then come before Docker's. Asked only where both have a login. */
  readonly prefersPodman?: () => Promise<boolean>;
  /** A login for the one registry `repoHost`, unless `config.json` has one. Needs `repoPass`. */
  readonly repoUser?: string | undefined;
  readonly repoPass?: string | undefined;
  /** Registry of the login, as the user wrote it; Docker Hub by default. */
  readonly repoHost?: string | undefined;
  /** Time limit of a credential helper; 10 s by default. */
  readonly helperDeadlineMs?: number | undefined;
};

/** `chosen`: the file that the user has named, before all others. `usual`: the places where Podman looks, in its order. */
export type AuthFiles = { readonly chosen: string | undefined; readonly usual: readonly string[] };

/** The login for a registry, with a text for messages about refusals. */
export type Login = {
  /** Registry host in its normalised form. */
  readonly registry: string;
  /** Undefined: no login, requests are anonymous. */
  readonly credential: Credential | undefined;
  /** The source of the login, or why there is none, as a clause for a message. */
  readonly origin: string;
  /** It is for a part of the registry, so it is no login for other repositories. */
  readonly isNamespaced?: true;
};

export type Credentials = {
  /** `registry` as in a normalised reference. Throws a `HttpFailure` when `config.json` cannot be read. */
  readonly find: (registry: string, repository?: string) => Promise<Login>;
  /** Like `find`, without `repoUser`: for mirrors, and for targets of redirects. */
  readonly findOwn: (registry: string, repository?: string) => Promise<Login>;
  /** Drops the cached answer of the helper. Call it after a refusal. */
  readonly forget: (registry: string) => void;
};

/**
 * Searches each file in Docker's order: the registry's helper, the helper for all, the file itself
 * (https://docs.docker.com/reference/cli/docker/login/#credential-helpers). The first file with a login counts.
 */
export function createCredentials(options: CredentialOptions): Credentials {
  const { clock, log, dockerConfigPath, helperDeadlineMs = 10_000 } = options;
  const { repoUser = '', repoPass = '', repoHost = 'docker.io' } = options;
  const repoRegistry = canonicalHubHost(registryOfKey(repoHost.trim()));
  const hinted = createLru<true>(maxRemembered);
  const { authFiles, prefersPodman = () => Promise.resolve(false) } = options;
  const open = (place: ConfigPlace): ConfigFile => ({ ...place, read: createDockerConfigFile(clock, place) });
  const chosen = [authFiles?.chosen].flatMap((path) => (path === undefined ? [] : open({ path, form: 'podman' })));
  const docker = [dockerConfigPath].flatMap((path) => (path === undefined ? [] : open({ path, form: 'docker' })));
  const usual = (authFiles?.usual ?? []).map((path) => open({ path, form: 'podman', isUsual: true }));
  const remembered = createLru<Remembered>(maxRemembered);
  const flight = createSingleFlight<HelperAnswer>();

  return {
    async find(registry, repository) {
      const { login, isSettled } = await search(registry, repository);
      if (isSettled || repoUser === '' || repoPass === '') return login;
      if (canonicalHubHost(registry) !== repoRegistry) return withoutRepoLogin(login);
      const credential = { kind: 'password', username: repoUser, password: repoPass } as const;
      return { registry, credential, origin: 'the login of REPO_USER and REPO_PASS' };
    },
    findOwn: async (registry, repository) => (await search(registry, repository)).login,
    forget: (registry) => remembered.delete(registry),
  };

  /** REPO_USER's login is for one registry. It is not sent to other registries that images or labels name. */
  function withoutRepoLogin({ registry, credential, origin }: Login): Login {
    if (hinted.get(registry) === undefined) {
      hinted.set(registry, true);
      log?.info(`REPO_USER and REPO_PASS are not sent to this registry: they are for ${quoted(repoRegistry)}`, {
        registry,
        remedy: `run docker login for this registry; if they are for it, name it with --repo-host (REPO_HOST)`,
      });
    }
    return { registry, credential, origin: `${origin} (REPO_USER is for ${quoted(repoRegistry)})` };
  }

  async function search(registry: string, repository: string | undefined): Promise<Found> {
    const named = await searchIn(chosen, registry, repository);
    if (named?.login.credential !== undefined) return named;
    const ofDocker = await searchIn(docker, registry, repository);
    const ofPodman = await searchIn(usual, registry, repository);
    const [first, second] =
      ofPodman?.login.credential !== undefined && (ofDocker?.login.credential === undefined || (await prefersPodman()))
        ? [ofPodman, ofDocker]
        : [ofDocker, ofPodman];
    return (
      [first, named, second].find((found) => found?.isSettled === true) ?? first ?? named ?? second ?? nothing(registry)
    );
  }

  /** In the first of the files with a login, or the reason why the first with an entry has none. Undefined: there are no files. */
  async function searchIn(
    files: readonly ConfigFile[],
    registry: string,
    repository: string | undefined,
  ): Promise<Found | undefined> {
    let without: Found | undefined;
    for (const file of files) {
      const found = await searchFile(file, registry, repository);
      if (found.login.credential !== undefined) return found;
      if (without === undefined || (found.isSettled && !without.isSettled)) without = found;
    }
    return without;
  }

  async function searchFile(
    { path, read }: ConfigFile,
    registry: string,
    repository: string | undefined,
  ): Promise<Found> {
    const config = await read();
    const entry = entryFor(config, registry, repository);
    const isNamespaced = entry !== config.logins.get(registry);
    const file = quoted(path, 300);
    // An empty name means the file: the default helper is not used for this registry.
    const helper = (config.helpers.get(registry) ?? config.store) || undefined;
    const answer = helper === undefined ? none : await ask(helper, registry);
    const settled = (credential: Credential, origin: string): Found => ({
      login: { registry, credential, origin },
      isSettled: true,
    });
    if (answer.kind === 'found') return settled(answer.credential, `the login from docker-credential-${helper}`);
    if (typeof entry === 'object') {
      const found = settled(entry, `the login in ${file}`);
      return isNamespaced ? { ...found, login: { ...found.login, isNamespaced } } : found;
    }
    const why = entry === 'malformed' ? `its login in ${file} cannot be read` : noLogin;
    return {
      login: { registry, credential: undefined, origin: answer.kind === 'failed' ? answer.why : why },
      isSettled: entry === 'malformed' || (helper !== undefined && (entry === 'empty' || config.helpers.has(registry))),
    };
  }

  async function ask(helper: string, registry: string): Promise<HelperAnswer> {
    const known = remembered.get(registry);
    if (known?.helper === helper && clock.monotonicMs() < known.untilMs) return known.answer;
    return flight(`${helper} ${registry}`, async () => {
      const answer = await askHelper(helper, registry === 'docker.io' ? hubKey : registry, helperDeadlineMs);
      const ttlMs = answer.kind === 'failed' ? failureTtlMs : answerTtlMs;
      remembered.set(registry, { helper, answer, untilMs: clock.monotonicMs() + ttlMs });
      if (answer.kind === 'failed') log?.warn('A credential helper failed', { registry, why: answer.why });
      return answer;
    });
  }
}

type ConfigFile = ConfigPlace & { readonly read: () => Promise<DockerConfig> };

const noLogin = 'there is no login for it';

function nothing(registry: string): Found {
  return { login: { registry, credential: undefined, origin: noLogin }, isSettled: false };
}

/** Maps the web host names of Docker Hub, which `config.json` does not use, to `docker.io`. */
function canonicalHubHost(registry: string): string {
  return hubWebNames.has(registry) ? 'docker.io' : registry;
}

const hubWebNames: ReadonlySet<string> = new Set(['registry.hub.docker.com', 'hub.docker.com']);

/** `isSettled`: the configuration covers the registry, so the login of REPO_USER does not apply. */
type Found = { readonly login: Login; readonly isSettled: boolean };

type Remembered = { readonly helper: string; readonly answer: HelperAnswer; readonly untilMs: number };

const none: HelperAnswer = { kind: 'none' };

const maxRemembered = 100;

/** Helpers start processes and call cloud services. Their logins are valid for hours. */
const answerTtlMs = 120_000;
const failureTtlMs = 30_000;
