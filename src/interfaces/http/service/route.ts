import type { IncomingMessage } from 'node:http';
import type { EndpointGroup } from '../../../domain/settings/http-settings.ts';
import { type QueryTable, type RawQuery, readQuery, type ValuesOf } from '../requests/query.ts';
import type { RouteReply } from '../replies/route-reply.ts';
import type { JsonSchema } from '../replies/schemas.ts';

/** One endpoint: its purpose, its credentials, and its answer. The API description is made from it. */
export type Route = {
  readonly group: EndpointGroup;
  readonly path: string;
  readonly methods: readonly ('GET' | 'POST' | 'DELETE')[];
  /** `api token or password`: also as the password of basic auth, for programs that send no other. */
  readonly access: 'api token' | 'api token or password' | 'events token' | 'webhook secret' | 'open';
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
  readonly answer: (request: RouteRequest, reply: RouteReply) => Answered;
};

/** `rest`: the path after the prefix of a route that ends with `*`. */
export type RouteRequest = {
  readonly raw: IncomingMessage;
  readonly query: RawQuery;
  readonly rest: string;
  /** Name of the request's token. Undefined if the token has no name, or none is needed. */
  readonly tokenName: string | undefined;
  /** The session, token or other way in of the request, in words. */
  readonly caller: string;
  /** Id of the session, for a request that is signed in by its cookie. */
  readonly sessionId: string | undefined;
  readonly address: string;
};

/** The sent reply, or an object to send as JSON. */
type Answered = RouteReply | object | Promise<RouteReply | object>;

export type ReplyDescription = {
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

export type Asked<Table extends QueryTable> = {
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
