import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Need, Rights } from '../../../domain/access/rights.ts';
import type { EndpointGroup } from '../../../domain/settings/http-settings.ts';
import {
  readQuery,
  normalTarget,
  pathOf,
  queryOf,
  type QueryTable,
  type RawQuery,
  type ValuesOf,
} from '../requests/request.ts';
import type { JsonSchema } from '../replies/schemas.ts';
import { constants, gzip } from 'node:zlib';
import { jsonType, notFound, type Problem } from '../replies/errors.ts';
import type { LimitedService } from './limited-service.ts';
import type { Service } from './parts.ts';

/** One endpoint: its purpose, its credentials, and its answer. The API description is made from it. */
export type Route = {
  readonly group: EndpointGroup;
  readonly path: string;
  readonly methods: readonly ('GET' | 'POST' | 'DELETE')[];
  /** `api token or password`: also as the password of basic auth, for programs that send no other. */
  readonly access: 'api token' | 'api token or password' | 'events token' | 'webhook secret' | 'open';
  /** The role that a caller needs; `nothing` where there is no token, or only the secret of webhooks. */
  readonly needs: Need;
  /**
   * For a caller with a filter: the route answers from `request.service`, which is limited; it is refused; or it tells of
   * no container.
   */
  readonly filter: 'applies' | 'refuses' | 'not concerned';
  readonly summary: string;
  readonly description: string;
  readonly query: QueryTable;
  /** The schema of the body, if one is read. */
  readonly body?: JsonSchema;
  /** The most bytes of a body in a form of other programs, which `bufferedBytes` returns. */
  readonly maxForeignBytes?: number;
  readonly replies: Readonly<Record<number, ReplyDescription>>;
  /** False if `HEAD` is refused although `GET` is not. */
  readonly answersHead: boolean;
  /** A file of the page, which does not count against the rate limit. */
  readonly isPageFile?: true;
  /** Remedy for a refused method, by method. */
  readonly remedies?: Readonly<Record<string, string>>;
  /** Media type of the reply; JSON by default. */
  readonly produces?: string;
  /** Other paths in the description, with their media types. Empty: it is not described. */
  readonly describedAs?: Readonly<Record<string, string>>;
  /** The same for OpenAPI 3.1, which has paths that the specification of the older description does not. */
  readonly describedIn31As?: Readonly<Record<string, string>>;
  readonly answer: (request: RouteRequest, reply: RouteReply) => Answered;
};

/** `rest`: the path after the prefix of a route that ends with `*`. */
export type RouteRequest = {
  readonly raw: IncomingMessage;
  readonly query: RawQuery;
  readonly rest: string;
  /** The name of the person or of the token. Undefined if the token has no name, or none is needed. */
  readonly name: string | undefined;
  /** The person, session, token or other way in of the request, in words. */
  readonly caller: string;
  /** Undefined where no token is needed. */
  readonly rights: Rights | undefined;
  /** The service as the caller may see it. */
  readonly service: Service;
  /** Present for a caller with a filter. */
  readonly limited?: LimitedService;
  /** Id of the session, for a request that is signed in by its cookie. */
  readonly sessionId: string | undefined;
  /** Whether the caller still has the rights that the request began with, for a reply that lasts. */
  readonly isStillAllowed: () => boolean;
  readonly address: string;
};

/** The sent reply, or an object to send as JSON. */
type Answered = RouteReply | object | Promise<RouteReply | object>;

type ReplyDescription = {
  readonly description: string;
  /** Schema of a JSON reply. */
  readonly schema?: JsonSchema;
};

type RouteParts<Table extends QueryTable> = Omit<Route, 'query' | 'answer' | 'answersHead' | 'methods'> & {
  readonly methods?: Route['methods'];
  readonly answersHead?: boolean;
  readonly query: Table;
  readonly answer: (asked: Asked<Table>, reply: RouteReply) => Answered;
};

type Asked<Table extends QueryTable> = {
  readonly query: ValuesOf<Table>;
  readonly request: RouteRequest;
};

/** Methods of a route. `HEAD` is included with `GET` unless `answersHead` is false. */
export function methodsOf({ methods, answersHead }: Route): readonly ('GET' | 'HEAD' | 'POST' | 'DELETE')[] {
  return answersHead && methods.includes('GET') ? [...methods, 'HEAD'] : methods;
}

/** Connects a route's answer with its declared parameters. The method is `GET` by default. */
export function defineRoute<Table extends QueryTable>(parts: RouteParts<Table>): Route {
  const { query: table, answer, methods = ['GET'], answersHead = true, ...rest } = parts;
  return {
    ...rest,
    methods,
    answersHead,
    query: table,
    answer: (request, reply) => answer({ query: readQuery(table, request.query), request }, reply),
  };
}

/** The reply of one route. A route sends it, or returns an object, which is sent as JSON with status 200. */
export class RouteReply {
  readonly raw: ServerResponse;
  readonly #headers: Record<string, string | number> = {};
  #status = 200;

  constructor(raw: ServerResponse, path: string) {
    this.raw = raw;
    if (path.startsWith('/v1/')) this.#headers['Cache-Control'] = 'no-store';
  }

  code(status: number): this {
    this.#status = status;
    return this;
  }

  header(name: string, value: string): this {
    this.#headers[name] = value;
    return this;
  }

  headers(headers: Readonly<Record<string, string>>): this {
    Object.assign(this.#headers, headers);
    return this;
  }

  redirect(location: string, status: number): this {
    return this.code(status).header('Location', location).send('');
  }

  /**
   * An object is sent as JSON. For `HEAD` Node drops the body but keeps its length. A longer text is compressed if the
   * client accepts that.
   */
  send(body?: string | Buffer | object): this {
    const isText = body === undefined || typeof body === 'string' || Buffer.isBuffer(body);
    const bytes = isText ? body : JSON.stringify(body);
    if (!isText) this.#headers['Content-Type'] ??= jsonType;
    if (bytes !== undefined && this.#isCompressible(bytes)) {
      const vary = this.raw.getHeader('Vary');
      this.#headers['Vary'] = vary === undefined ? 'Accept-Encoding' : `${String(vary)}, Accept-Encoding`;
      if (acceptsGzip(this.raw.req.headers['accept-encoding'])) {
        gzip(bytes, { level: constants.Z_BEST_SPEED }, (error, compressed) => {
          if (error !== null) return this.#end(bytes);
          this.#headers['Content-Encoding'] = 'gzip';
          // A strong tag stands for one sequence of bytes.
          if (this.#headers['ETag'] !== undefined) this.#headers['ETag'] = `W/${this.#headers['ETag']}`;
          this.#end(compressed);
        });
        return this;
      }
    }
    this.#end(bytes);
    return this;
  }

  #end(bytes: string | Buffer | undefined): void {
    if (bytes !== undefined) this.#headers['Content-Length'] = Buffer.byteLength(bytes);
    this.raw.writeHead(this.#status, this.#headers);
    this.raw.end(bytes);
  }

  #isCompressible(bytes: string | Buffer): boolean {
    const type = String(this.#headers['Content-Type'] ?? '');
    return bytes.length >= minCompressedBytes && /^(?:text\/|application\/(?:json|yaml))/.test(type);
  }
}

/** A shorter text fits into one packet anyway. */
const minCompressedBytes = 1400;

/** Whether `Accept-Encoding` names gzip and does not refuse it: https://www.rfc-editor.org/rfc/rfc9110#section-12.5.3 */
function acceptsGzip(header: string | readonly string[] | undefined): boolean {
  const named = String(header ?? '')
    .toLowerCase()
    .split(',')
    .find((item) => /^\s*(?:x-)?gzip\s*(?:;|$)/.test(item));
  return named !== undefined && !/;\s*q=0(?:\.0*)?\s*$/.test(named);
}

/** `rest`: the path after the prefix of a route that ends with `*`, decoded; empty for other routes. */
export type Found = { readonly kind: 'route'; readonly route: Route; readonly rest: string };

/** `remedy`: for a refused method of a known path, if its route has one. */
export type Refused = {
  readonly kind: 'problem';
  readonly problem: Problem;
  readonly remedy?: { readonly path: string; readonly text: string };
};

/** Finds the route of a method and a request's target; the problem is 404 for the path, else 405 for the method. */
export type RouteTable = { readonly find: (method: string, target: string) => Found | Refused };

/** `basePath`: see `HttpSettings`. */
export function createRouteTable(routes: readonly Route[], basePath: string): RouteTable {
  const exact = new Map<string, Map<string, Route>>();
  for (const route of routes) {
    const entry = exact.get(route.path) ?? new Map<string, Route>();
    for (const method of methodsOf(route)) entry.set(method, route);
    exact.set(route.path, entry);
  }
  const prefixes = [...exact].flatMap(([path, entry]) =>
    path.endsWith('*') ? { entry, prefix: path.slice(0, -1) } : [],
  );

  function at(path: string): { readonly entry: Entry; readonly rest: string } | undefined {
    const entry = path.endsWith('*') ? undefined : exact.get(path);
    if (entry !== undefined) return { entry, rest: '' };
    const under = prefixes.find(({ prefix }) => path.startsWith(prefix));
    return under && { entry: under.entry, rest: path.slice(under.prefix.length) };
  }

  return {
    find(method, target) {
      const asked = pathOf(target);
      if (basePath !== '' && asked === basePath) return toFolder(basePath, queryOf(target));
      const own = asked.startsWith(`${basePath}/`) ? asked.slice(basePath.length) : asked;
      const found = at(decoded(normalTarget(own)));
      if (found === undefined) return { kind: 'problem', problem: notFound };
      const { entry, rest } = found;
      const route = entry.get(method);
      return route === undefined ? methodNotAllowed(entry, method) : { kind: 'route', route, rest };
    },
  };
}

/** The page names its files relative to its folder. */
function toFolder(basePath: string, query: string): Refused {
  const location = `${basePath}/${query === '' ? '' : `?${query}`}`;
  const problem = { status: 308, message: 'the page has a slash at its end', headers: { Location: location } };
  return { kind: 'problem', problem };
}

/** The routes of one path, by method. */
type Entry = ReadonlyMap<string, Route>;

/** Some clients escape letters that need no escape. */
function decoded(path: string): string {
  if (!path.includes('%')) return path;
  try {
    return decodeURI(path);
  } catch {
    return path;
  }
}

function methodNotAllowed(entry: Entry, method: string): Refused {
  const [remedy] = [...entry.values()].flatMap(({ path, remedies }) => {
    const text = remedies?.[method];
    return text === undefined ? [] : { path, text };
  });
  const message = remedy === undefined ? 'method not allowed' : `method not allowed: ${remedy.text}`;
  const headers = { Allow: [...entry.keys()].join(', ') };
  return { kind: 'problem', problem: { status: 405, message, headers }, ...(remedy !== undefined && { remedy }) };
}
