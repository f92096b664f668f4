import { addressOf, type ForgeKind, type Repository } from '../../domain/image/image-source.ts';
import type { Forges, NotesAnswer, NotesQuestion, StepAnswer } from '../../domain/notes/notes.ts';
import {
  changelogReleases,
  cutText,
  reachesBack,
  type Release,
  releasesBetween,
  type Step,
  tagOfVersion,
} from '../../domain/notes/releases.ts';
import { readRelease as readNotes } from '../../domain/notes/read-release.ts';
import type { Clock, Log } from '../../domain/outside/outside.ts';
import { formatDuration, printTime } from '../../domain/text/duration.ts';
import { arrayOf, isJsonObject, type JsonObject, parseJson, stringOf } from '../../domain/text/json.ts';
import {
  createAgents,
  createAuthorities,
  createProxyChoice,
  type AuthorityOptions,
  type ProxyOptions,
} from '../http/agents.ts';
import { createExchange, createSentSecrets, readRetryAfter, type WireAnswer } from '../http/exchange.ts';

export type ForgeOptions = {
  readonly clock: Pick<Clock, 'nowMs' | 'monotonicMs'>;
  readonly log: Pick<Log, 'warn'>;
  readonly version: string;
  /** A token by the host of a repository. It is sent to the address of this host's API only. */
  readonly tokens: ReadonlyMap<string, string>;
  readonly proxy: ProxyOptions;
  /** The authorities of the registry client. */
  readonly trust: Omit<AuthorityOptions, 'certsFolder'>;
  /** Called after each request, with the host of the repository. */
  readonly onRequest?: (host: string, result: RequestResult) => void;
  /** From connecting to the last byte; 10 s by default. */
  readonly deadlineMs?: number;
};

type RequestResult = 'answered' | 'missing' | 'limited' | 'failed';

/**
 * Reads release notes: the releases of a repository, else its tags and its CHANGELOG.md. One question is at most six
 * requests. It asks the hosts of `Repository` only, over https.
 */
export function createForges(options: ForgeOptions): Forges {
  const { clock, log, version, tokens, deadlineMs = 10_000 } = options;
  const agents = createAgents({
    clock,
    isInsecure: () => Promise.resolve(false),
    contextFor: createAuthorities({ ...options.trust, certsFolder: undefined }),
    proxyFor: createProxyChoice(options.proxy),
    maxSocketsPerOrigin: 4,
    deadlineMs,
  });
  const exchange = createExchange(agents, { deadlineMs, userAgent: `upkeep/${version}`, sent: createSentSecrets() });
  const limits = createLimits({ clock, log, hasToken: (host) => tokens.has(host) });

  /** One request, with its redirects on the same host. */
  async function ask(
    { forge, host }: Repository,
    address: URL,
    { headers = {}, maxBytes = maxAnswer, isApi = true }: Partial<Asking>,
    signal: AbortSignal | undefined,
  ): Promise<WireAnswer> {
    const token = isApi ? tokens.get(host) : undefined;
    const sent = { ...accepts[forge], ...(token !== undefined && authorization(forge, token)), ...headers };
    for (let url = address, hops = 0; ; hops += 1) {
      if (isApi) limits.pass(host, forge);
      const answer = await exchange({ method: 'GET', url, headers: sent, maxBytes }, signal).catch((error: unknown) => {
        if (!signal?.aborted) options.onRequest?.(host, 'failed');
        throw error;
      });
      options.onRequest?.(host, resultOf(answer.status));
      if (isApi) limits.note(host, forge, answer);
      const { location } = answer.headers;
      if (![301, 302, 307, 308].includes(answer.status) || location === undefined) return answer;
      const next = URL.canParse(location, url.href) ? new URL(location, url) : undefined;
      if (hops === maxHops || next?.origin !== address.origin) throw new Unread('it redirects to another host');
      url = next;
    }
  }

  async function pagesOf(
    repository: Repository,
    { steps, etag }: NotesQuestion,
    signal: AbortSignal | undefined,
  ): Promise<Listed | 'unchanged' | 'missing'> {
    const releases: Release[] = [];
    let isWhole = false;
    let first: string | undefined;
    let size = pageSize[repository.forge];
    for (let page = 1; page <= maxPages; page += 1) {
      const headers = page === 1 && etag !== undefined ? { 'if-none-match': etag } : {};
      const asking = { headers };
      const answer = await ask(repository, pageAddress(repository, 'releases', page, size), asking, signal).catch(
        (error: unknown) => {
          if (!isTooLarge(error)) throw error;
          if (page > 1) return undefined;
          // A page that is too large is asked for again with fewer releases.
          size = Math.ceil(size / 4);
          return ask(repository, pageAddress(repository, 'releases', page, size), {}, signal);
        },
      );
      // The newer releases are better than none.
      if (answer === undefined) break;
      if (answer.status === 304 && page === 1) return 'unchanged';
      if (answer.status === 404) return 'missing';
      const listed = listIn(answer, tokens.has(repository.host), repository.host);
      first ??= page === 1 ? textHeader(answer, 'etag') : undefined;
      releases.push(...listed.flatMap((one) => readRelease(one, repository) ?? []));
      const isEnough = steps.every((step) => reachesBack(releases, step));
      isWhole = listed.length < size;
      if (isWhole || isEnough) break;
    }
    return { releases, isWhole, etag: first };
  }

  async function fromChangelog(
    repository: Repository,
    step: Step,
    tags: () => Promise<readonly string[]>,
    signal: AbortSignal | undefined,
  ): Promise<Between | undefined> {
    const tag = tagOfVersion(await tags(), step.to, step);
    if (tag === undefined) return undefined;
    const { url, isApi } = changelogAddress(repository, tag);
    const accept = isApi && repository.forge === 'github' ? { accept: 'application/vnd.github.raw+json' } : {};
    const answer = await ask(repository, url, { isApi, headers: accept }, signal);
    if (answer.status !== 200 || !isText(answer)) return undefined;
    const page = `${addressOf(repository)}/${treePath[repository.forge]}${encodeURIComponent(tag)}`;
    const { tagForm: _, ...plain } = step;
    return releasesBetween(changelogReleases(answer.body.toString(), step, page) ?? [], plain);
  }

  async function read(question: NotesQuestion, signal: AbortSignal | undefined): Promise<NotesAnswer> {
    const { repository } = question;
    const listed = await pagesOf(repository, question, signal);
    if (typeof listed === 'string') return { kind: listed };
    let tags: Promise<readonly string[]> | undefined;
    const tagsOnce = () =>
      (tags ??= ask(repository, pageAddress(repository, 'tags', 1, 100), {}, signal).then((answer) =>
        answer.status === 404
          ? []
          : listIn(answer, tokens.has(repository.host), repository.host).flatMap((one) => stringOf(one['name']) ?? []),
      ));
    const steps: StepAnswer[] = [];
    for (const step of question.steps) {
      const found = releasesBetween(listed.releases, step);
      if (found !== undefined) {
        const lacksOlder = found.lacksOlder || (!listed.isWhole && !reachesBack(listed.releases, step));
        steps.push({ ...(await foundIn(found)), ...(lacksOlder && { lacksOlder }) });
        continue;
      }
      const written = await fromChangelog(repository, step, tagsOnce, signal);
      steps.push(
        written === undefined
          ? { kind: 'none', url: comparison(repository, step, await tagsOnce()) }
          : await foundIn(written),
      );
    }
    // A tag or a changelog may come without a change of the list of releases.
    const etag = steps.some(({ kind }) => kind === 'none') ? undefined : listed.etag;
    return { kind: 'read', etag, steps };
  }

  return {
    async read(question, signal) {
      const { host } = question.repository;
      try {
        return await read(question, signal);
      } catch (error) {
        if (signal?.aborted === true) throw signal.reason;
        const retryAtMs = error instanceof Unread ? error.retryAtMs : undefined;
        const reason = error instanceof Error ? error.message : 'it cannot be read';
        return { kind: 'failed', reason: `${host}: ${reason}`, ...(retryAtMs !== undefined && { retryAtMs }) };
      }
    },
    close: agents.close,
  };
}

/** `isWhole`: there are no older releases. */
type Listed = {
  readonly releases: readonly Release[];
  readonly isWhole: boolean;
  readonly etag: string | undefined;
};

type Between = Pick<NonNullable<ReturnType<typeof releasesBetween<Release>>>, 'releases' | 'rest'>;

/** Of releases that are too many to show, those that speak of breaking changes are kept too. */
async function foundIn({ releases, rest }: Between): Promise<Extract<StepAnswer, { readonly kind: 'found' }>> {
  const shown = await treesOf(releases);
  const older = await treesOf(rest);
  const breaking = older.filter(({ title, blocks }) => readNotes(title, blocks).breaking.length > 0);
  return { kind: 'found', releases: [...shown, ...breaking], more: older.length - breaking.length };
}

type Asking = {
  readonly headers: Readonly<Record<string, string>>;
  readonly maxBytes: number;
  readonly isApi: boolean;
};

/** An answer without notes; the message is a clause after the host. */
class Unread extends Error {
  readonly retryAtMs: number | undefined;

  constructor(why: string, retryAtMs?: number) {
    super(why);
    this.retryAtMs = retryAtMs;
  }
}

const maxHops = 3;
const maxPages = 4;
const maxAnswer = 2 * 1024 * 1024;

/** GitLab has at most 100, Gitea usually 50; smaller pages, because every body comes with them. */
const pageSize: Readonly<Record<ForgeKind, number>> = { github: 30, gitlab: 20, gitea: 30 };

const accepts: Readonly<Record<ForgeKind, Readonly<Record<string, string>>>> = {
  github: { accept: 'application/vnd.github+json', 'x-github-api-version': '2022-11-28' },
  gitlab: { accept: 'application/json' },
  gitea: { accept: 'application/json' },
};

function authorization(forge: ForgeKind, token: string): Readonly<Record<string, string>> {
  if (forge === 'gitlab') return { 'private-token': token };
  return { authorization: forge === 'github' ? `Bearer ${token}` : `token ${token}` };
}

function apiOf({ forge, host, path }: Repository): string {
  switch (forge) {
    case 'github':
      return `${host === 'github.com' ? 'https://api.github.com' : `https://${host}/api/v3`}/repos/${path}`;
    case 'gitlab':
      return `https://${host}/api/v4/projects/${encodeURIComponent(path)}`;
    case 'gitea':
      return `https://${host}/api/v1/repos/${path}`;
  }
}

function pageAddress(repository: Repository, list: 'releases' | 'tags', page: number, size: number): URL {
  const path = repository.forge === 'gitlab' && list === 'tags' ? 'repository/tags' : list;
  const query = `${repository.forge === 'gitea' ? 'limit' : 'per_page'}=${size}&page=${page}`;
  return new URL(`${apiOf(repository)}/${path}?${query}`);
}

/** The file of github.com comes from a host that counts no requests, and gets no token. */
function changelogAddress(repository: Repository, tag: string): { readonly url: URL; readonly isApi: boolean } {
  const ref = encodeURIComponent(tag);
  const { forge, host, path } = repository;
  if (host === 'github.com')
    return { url: new URL(`https://raw.githubusercontent.com/${path}/${ref}/CHANGELOG.md`), isApi: false };
  const file = {
    github: `contents/CHANGELOG.md?ref=${ref}`,
    gitlab: `repository/files/CHANGELOG.md/raw?ref=${ref}`,
    gitea: `raw/CHANGELOG.md?ref=${ref}`,
  };
  return { url: new URL(`${apiOf(repository)}/${file[forge]}`), isApi: true };
}

const treePath: Readonly<Record<ForgeKind, string>> = { github: 'tree/', gitlab: '-/tree/', gitea: 'src/tag/' };
const releasePath: Readonly<Record<ForgeKind, string>> = {
  github: 'releases/tag/',
  gitlab: '-/releases/',
  gitea: 'releases/tag/',
};

/** The page that compares two tags; the page of the releases where a tag is not known. */
function comparison(repository: Repository, step: Step, tags: readonly string[]): string {
  const [from, to] = [step.from, step.to].map((one) => one && tagOfVersion(tags, one, step));
  if (!from || !to) return addressOf(repository, 'releases');
  const path = repository.forge === 'gitlab' ? '-/compare/' : 'compare/';
  return `${addressOf(repository)}/${path}${encodeURIComponent(from)}...${encodeURIComponent(to)}`;
}

/** The objects of a list. Throws for any other answer. */
function listIn(answer: WireAnswer, hasToken: boolean, host: string): readonly JsonObject[] {
  const { status } = answer;
  if (hasToken && (status === 401 || status === 403)) throw new Unread(`the token of ${host} was refused`);
  if (status !== 200) throw new Unread(`it answered with status ${status}`);
  const value = parseJson(answer.body.toString());
  if (!Array.isArray(value)) throw new Unread('its answer is not a list of releases');
  return arrayOf(value).filter(isJsonObject);
}

function isText({ headers }: WireAnswer): boolean {
  return !/html/i.test(headers['content-type'] ?? '');
}

function textHeader({ headers }: WireAnswer, name: string): string | undefined {
  const value = headers[name];
  return typeof value === 'string' && value.length <= 200 ? value : undefined;
}

/** Undefined for a draft, and for what is not a release. */
function readRelease(value: JsonObject, repository: Repository): Release | undefined {
  const { tag_name: tag, name, draft, prerelease, upcoming_release: isUpcoming } = value;
  const isTag = typeof tag === 'string' && /^[\p{L}\p{N}\p{P}\p{S}]{1,200}$/u.test(tag);
  if (!isTag || draft === true || isUpcoming === true) return undefined;
  const text = stringOf(value['body']) ?? stringOf(value['description']) ?? '';
  const time = Date.parse(stringOf(value['published_at']) ?? stringOf(value['released_at']) ?? '');
  return {
    tag,
    title: (stringOf(name) ?? '').replaceAll(/[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/gu, '').slice(0, 200),
    ...cutText(text),
    publishedAtMs: Number.isNaN(time) ? undefined : time,
    isPrerelease: prerelease === true,
    url: `${addressOf(repository)}/${releasePath[repository.forge]}${encodeURIComponent(tag)}`,
  };
}

/** Reads Markdown release by release, and lets others work between them. */
async function treesOf(releases: readonly Release[]) {
  const { readMarkdown } = await import('./markdown.ts');
  const trees = [];
  let room = maxText;
  for (const { text: whole, ...release } of releases) {
    const { text, ...cut } = cutText(whole, room);
    trees.push({ ...release, ...cut, blocks: readMarkdown(text) });
    room -= text.length;
    await new Promise((resolve) => setImmediate(resolve));
  }
  return trees;
}

function resultOf(status: number): RequestResult {
  if (status === 403 || status === 429) return 'limited';
  return status === 404 ? 'missing' : status < 400 ? 'answered' : 'failed';
}

/** The notes of one step; a longer text is cut. */
const maxText = 256 * 1024;

function isTooLarge(error: unknown): boolean {
  return error instanceof Error && error.message.includes('more than');
}

/**
 * The pauses that hosts ask for, and our own: github.com allows 60 requests an hour to an address without a token, and
 * others behind it need some. https://docs.github.com/en/rest/using-the-rest-api/rate-limits-for-the-rest-api
 */
function createLimits({
  clock,
  log,
  hasToken,
}: Pick<ForgeOptions, 'clock' | 'log'> & { readonly hasToken: (host: string) => boolean }) {
  const pauses = new Map<string, number>();
  let asked: number[] = [];

  function pause(host: string, untilMs: number): void {
    const nowMs = clock.nowMs();
    const until = Math.min(Math.max(untilMs, nowMs + minPauseMs), nowMs + maxPauseMs);
    if ((pauses.get(host) ?? 0) < nowMs)
      log.warn('Release notes wait, because their host allows no more requests', { host, until: printTime(until) });
    pauses.set(host, until);
  }

  function pausedUntilMs(host: string): number | undefined {
    const until = pauses.get(host);
    return until !== undefined && until > clock.nowMs() ? until : undefined;
  }

  return {
    /** Throws while requests to the host are paused. */
    pass(host: string, forge: ForgeKind): void {
      const nowMs = clock.nowMs();
      if (forge === 'github' && !hasToken(host)) {
        asked = asked.filter((atMs) => atMs > nowMs - hourMs && atMs <= nowMs);
        if (asked.length >= maxAnHour) pause(host, (asked[0] ?? nowMs) + hourMs);
      }
      const until = pausedUntilMs(host);
      if (until !== undefined) {
        const remedy = hasToken(host) ? '' : '; set a token with --release-notes-token';
        throw new Unread(`it allows no more requests until ${printTime(until)}${remedy}`, until);
      }
      if (forge === 'github' && !hasToken(host)) asked.push(nowMs);
    },
    note(host: string, forge: ForgeKind, { status, headers }: WireAnswer): void {
      const nowMs = clock.nowMs();
      const left = Number(headers['x-ratelimit-remaining'] ?? NaN);
      const resetMs = Number(headers['x-ratelimit-reset'] ?? NaN) * 1000;
      const afterMs = readRetryAfter(headers['retry-after'], nowMs);
      const isLimited = status === 429 || (status === 403 && (left === 0 || afterMs !== undefined));
      const keepsSome = forge === 'github' && !hasToken(host) && left < keptForOthers;
      if (!isLimited && !keepsSome) return;
      pause(host, afterMs === undefined ? (Number.isNaN(resetMs) ? nowMs : resetMs) : nowMs + afterMs);
      if (isLimited) {
        const waitMs = (pausedUntilMs(host) ?? nowMs) - nowMs;
        throw new Unread(
          `it allows no more requests for ${formatDuration(Math.ceil(waitMs / 60_000) * 60_000)}`,
          nowMs + waitMs,
        );
      }
    },
  };
}

const hourMs = 3_600_000;
const minPauseMs = 60_000;
const maxPauseMs = hourMs;
const maxAnHour = 30;
const keptForOthers = 10;
