import type { Clock, Log } from '../../../domain/outside/outside.ts';
import { quoted } from '../../../domain/text/printable.ts';
import { askHelper, type HelperAnswer } from './credential-helper.ts';
import { hubKey, registryOfKey, type Credential } from './docker-config.ts';
import { createDockerConfigFile } from './docker-config-file.ts';
import { createLru } from '../async/lru.ts';
import { createSingleFlight } from '../async/single-flight.ts';

export type CredentialOptions = {
  readonly clock: Clock;
  readonly log?: Log | undefined;
  /** Path of Docker's `config.json`; undefined: none. */
  readonly dockerConfigPath?: string | undefined;
  /** A login for the one registry `repoHost`, unless `config.json` has one. Needs `repoPass`. */
  readonly repoUser?: string | undefined;
  readonly repoPass?: string | undefined;
  /** Registry of the login, as the user wrote it; Docker Hub by default. */
  readonly repoHost?: string | undefined;
  /** Time limit of a credential helper; 10 s by default. */
  readonly helperDeadlineMs?: number | undefined;
};

/** The login for a registry, with a text for messages about refusals. */
export type Login = {
  /** Registry host in its normalised form. */
  readonly registry: string;
  /** Undefined: no login, requests are anonymous. */
  readonly credential: Credential | undefined;
  /** The source of the login, or why there is none, as a clause for a message. */
  readonly origin: string;
};

export type Credentials = {
  /** `registry` as in a normalised reference. Throws a `RegistryFailure` when `config.json` cannot be read. */
  readonly find: (registry: string) => Promise<Login>;
  /** Like `find`, without `repoUser`: for mirrors, and for targets of redirects. */
  readonly findOwn: (registry: string) => Promise<Login>;
  /** Drops the cached answer of the helper. Call it after a refusal. */
  readonly forget: (registry: string) => void;
};

/**
 * Searches in Docker's order: the registry's helper, the helper for all, the file itself
 * (https://docs.docker.com/reference/cli/docker/login/#credential-helpers).
 */
export function createCredentials(options: CredentialOptions): Credentials {
  const { clock, log, dockerConfigPath, helperDeadlineMs = 10_000 } = options;
  const { repoUser = '', repoPass = '', repoHost = 'docker.io' } = options;
  const repoRegistry = canonicalHubHost(registryOfKey(repoHost.trim()));
  const hinted = createLru<true>(maxRemembered);
  const file = quoted(dockerConfigPath ?? 'config.json', 300);
  const readConfig = createDockerConfigFile(clock, dockerConfigPath);
  const remembered = createLru<Remembered>(maxRemembered);
  const flight = createSingleFlight<HelperAnswer>();

  return {
    async find(registry) {
      const { login, isSettled } = await search(registry);
      if (isSettled || repoUser === '' || repoPass === '') return login;
      if (canonicalHubHost(registry) !== repoRegistry) return withoutRepoLogin(login);
      const credential = { kind: 'password', username: repoUser, password: repoPass } as const;
      return { registry, credential, origin: 'the login of REPO_USER and REPO_PASS' };
    },
    findOwn: async (registry) => (await search(registry)).login,
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

  async function search(registry: string): Promise<Found> {
    const config = await readConfig();
    const entry = config.logins.get(registry);
    // An empty name means the file: the default helper is not used for this registry.
    const helper = (config.helpers.get(registry) ?? config.store) || undefined;
    const answer = helper === undefined ? none : await ask(helper, registry);
    const settled = (credential: Credential, origin: string): Found => ({
      login: { registry, credential, origin },
      isSettled: true,
    });
    if (answer.kind === 'found') return settled(answer.credential, `the login from docker-credential-${helper}`);
    if (typeof entry === 'object') return settled(entry, `the login in ${file}`);
    return {
      login: { registry, credential: undefined, origin: answer.kind === 'failed' ? answer.why : noLogin(entry) },
      isSettled: entry === 'malformed' || (helper !== undefined && (entry === 'empty' || config.helpers.has(registry))),
    };
  }

  function noLogin(entry: 'empty' | 'malformed' | undefined): string {
    return entry === 'malformed' ? `its login in ${file} cannot be read` : 'there is no login for it';
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
