import { editDistance } from '../../../domain/text/name-pattern.ts';
import { quoted } from '../../../domain/text/printable.ts';
import type { Log } from '../../../domain/outside/outside.ts';
import { HttpError, type HttpResponse } from '../replies/errors.ts';
import type { Route } from '../service/route.ts';
import type { RawQuery } from '../requests/query.ts';

/** Tells clients, in the header `X-Upkeep-Warning`, and once each in the log, of input that Upkeep does not use. */
export type IgnoredInput = {
  /**
   * Names the parameters that a route does not have. On a route that changes something, a name that looks like one of
   * the route's own throws 400 and names the right one: ignoring it would do more than the client asked for.
   */
  readonly inQuery: (route: Route, query: RawQuery, response: HttpResponse) => void;
  /** Bodies are not used, except by routes that describe one. */
  readonly inBody: (route: Route, bodyBytes: number, response: HttpResponse) => void;
  /** A method that a route refuses with a remedy, such as `GET /v1/update` of the first Watchtower. */
  readonly refusedMethod: (refused: string, remedy: string, address: string) => void;
};

export function createIgnoredInput(log: Log): IgnoredInput {
  const logged = new Set<string>();

  /** At the bound no further line is written, so that no client can fill the disk. */
  function logOnce(key: string, message: string, fields: Readonly<Record<string, string>>): void {
    if (logged.has(key) || logged.size >= maxLogged) return;
    logged.add(key);
    log.warn(message, fields);
  }

  function warn(path: string, text: string, response: HttpResponse): void {
    response.commonHeaders.push('X-Upkeep-Warning', text);
    logOnce(`${path} ${text}`, 'A request has input that is not used', { path, warning: text });
  }

  return {
    inQuery(route, query, response) {
      const names = ignoredParameters(route, query);
      if (names.length > 0) warn(route.path, describeIgnored(names), response);
    },
    inBody({ path, body, maxForeignBytes }, bodyBytes, response) {
      if (bodyBytes > 0 && body === undefined && maxForeignBytes === undefined && path.startsWith('/v1/'))
        warn(path, 'the request body is not used: parameters belong in the query of the URL', response);
    },
    refusedMethod: (refused, remedy, address) =>
      logOnce(`${refused} ${address}`, `A client sends ${refused}, which is refused: ${remedy}`, { client: address }),
  };
}

const maxLogged = 100;

function ignoredParameters({ path, methods, query: own, access }: Route, raw: RawQuery): readonly string[] {
  const unknown = Object.keys(raw).filter((name) => name !== '' && !Object.hasOwn(own, name));
  if (access === 'events token') return unknown.filter((name) => name !== 'access_token');
  const isChanging = methods.some((method) => method !== 'GET');
  for (const name of isChanging ? unknown : []) {
    const right = meantBy(name, Object.keys(own)) ?? rehearsalIn(name, raw[name]);
    if (right === undefined || (right === 'dry_run' && path === '/v1/check')) continue;
    const hint = Object.hasOwn(own, right) ? `did you mean "${right}"?` : 'this request cannot be rehearsed';
    throw new HttpError(400, `unknown query parameter ${quoted(name, maxShown)}: ${hint}`);
  }
  return path.startsWith('/v1/') ? unknown : [];
}

/** Printable ASCII, as a header needs it. */
function describeIgnored(names: readonly string[]): string {
  const shown = names.slice(0, maxNames).map((name) => quoted(name, maxShown));
  const more = names.length > maxNames ? ` and ${names.length - maxNames} more` : '';
  const text = `unknown query parameter${names.length === 1 ? '' : 's'} ignored: ${shown.join(', ')}${more}`;
  return text.replaceAll(/[^\x20-\x7e]/g, '?');
}

const maxNames = 5;

const maxShown = 40;

/** The parameter that a name of another program, or a misspelt one, most likely stands for. */
function meantBy(name: string, own: readonly string[]): string | undefined {
  const typed = plain(name);
  const parameters = own.map((each) => ({ name: each, plain: plain(each) }));
  const same = parameters.find((each) => each.plain === typed);
  if (same !== undefined) return same.name;
  const parts = wordsIn(name);
  for (const isMeant of [
    (names: ReadonlySet<string>) => names.has(typed),
    (names: ReadonlySet<string>) => parts.some((part) => part.length >= 3 && names.has(part)),
  ]) {
    const alias = Object.entries(aliases).find(([right, names]) => own.includes(right) && isMeant(names));
    if (alias !== undefined) return alias[0];
  }
  const similar = parameters.find((each) => isSimilar(typed, each.plain));
  return similar?.name;
}

/** The name `dry_run` if a client asks for no change in other words, also on a route that has no rehearsal. */
function rehearsalIn(name: string, value: RawQuery[string]): string | undefined {
  const isAction = actions.has(plain(name)) && [value].flat().some((one) => refusals.test(one?.trim() ?? ''));
  return isAction ? 'dry_run' : meantBy(name, ['dry_run']);
}

/** `serviceName`, `service-name` and `service.name` have the word `service`. `name` alone says nothing of what it names. */
function wordsIn(name: string): readonly string[] {
  const words = name.slice(0, maxCompared).split(/[^\p{L}\p{N}]+|(?<=\p{Ll})(?=\p{Lu})/u);
  return words.map((word) => word.toLowerCase()).filter((word) => word !== 'name' && word !== 'names');
}

/** `Dry-Run`, `dry.run`, `dryRun[]` and `DRY_RUN` are the same name. */
function plain(name: string): string {
  return name
    .slice(0, maxCompared)
    .normalize('NFKC')
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}]/gu, '');
}

/** Longer than any parameter; bounds the time of the comparison. */
const maxCompared = 40;

/** An abbreviation (`cont`), a longer form (`containerNames`), or one typing mistake, two in a long name. */
function isSimilar(typed: string, right: string): boolean {
  if (typed.length >= 3 && right.startsWith(typed)) return true;
  if (right.length >= 5 && typed.includes(right)) return true;
  const mistakes = right.length < 4 ? 0 : right.length < 7 ? 1 : 2;
  return Math.abs(typed.length - right.length) <= mistakes && editDistance(typed, right) <= mistakes;
}

/**
 * Names under which clients of Watchtower, its forks, What's Up Docker, Diun, Portainer and Percona PMM narrow a
 * request, by the parameter that does it here.
 */
const aliases: Readonly<Record<string, ReadonlySet<string>>> = {
  image: words(
    'i img imgs newimagename oldimagename repository repositories repo repos tag tags reference ref registry digest',
    'digests version versions',
  ),
  engine: words('node nodes agent agents server servers environment environments endpoint endpoints machine machines'),
  dry_run: words(
    'dry dr preview plan planonly simulate simulation sim noop whatif pretend rehearse rehearsal test testrun checkonly',
    'check monitoronly monitor noupdate readonly pullonly nopull norestart nostart listonly fake mock diff compare show',
    'print estimate validate validation verify prepare safe dont dontupdate skipupdate mode action method command cmd',
  ),
  container: words(
    'c n q s ctr cnt name names id ids cid service services hostname hostnames host target targets only filter filters',
    'include includes exclude excludes except skip app apps project projects stack stacks compose pod scope label labels',
    'selector select selected selection subset query search match pattern regex regexp where which group groups',
    'namespace unit units workload deployment job object item items entity resource instance instances vm uuid limit max',
    'count first list',
  ),
};

/** Words for an update, which with a negative value ask for none. */
const actions = words(
  'apply confirm confirmed execute run do update commit install deploy pull restart recreate real go',
);

const refusals = /^(?:false|f|0|no?|off|none|never)$/i;

function words(...lines: readonly string[]): ReadonlySet<string> {
  return new Set(lines.join(' ').split(' '));
}
