import type { IncomingMessage } from 'node:http';
import type { EndpointGroup } from '../../../domain/settings/http-settings.ts';
import { type QueryTable, type RawQuery, readQuery, type ValuesOf } from '../requests/query.ts';
import type { RouteReply } from '../replies/route-reply.ts';
import type { JsonSchema } from '../replies/schemas.ts';

/** One endpoint: what it is for, who may ask, and its answer. The description is made from the same. */
export type Route = {
  readonly group: EndpointGroup;
  readonly path: string;
  readonly methods: readonly ('GET' | 'POST' | 'DELETE')[];
  readonly access: 'api token' | 'events token' | 'open';
  readonly summary: string;
  readonly description: string;
  readonly query: QueryTable;
  /** Of the body, where one is read. */
  readonly body?: JsonSchema;
  readonly replies: Readonly<Record<number, ReplyDescription>>;
  /** False where a `HEAD` is refused, though `GET` is not. */
  readonly answersHead: boolean;
  /** Remedy for a refused method, by method. */
  readonly remedies?: Readonly<Record<string, string>>;
  /** Media type of the reply, unless it is JSON. */
  readonly produces?: string;
  /** Under another path in the description; empty: under several of its own, or none. */
  readonly describedAs?: readonly string[];
  readonly answer: (request: RouteRequest, reply: RouteReply) => Answered;
};

/** `rest`: the path after the prefix of a route that ends with `*`. */
export type RouteRequest = {
  readonly raw: IncomingMessage;
  readonly query: RawQuery;
  readonly rest: string;
  /** Of the token that the request came with; undefined where the token has no name, or none is asked for. */
  readonly tokenName: string | undefined;
};

/** The reply, sent; or an object to send as JSON. */
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

/** Methods of a route; `HEAD` goes with `GET` unless `answersHead` is false. */
export function methodsOf({ methods, answersHead }: Route): readonly ('GET' | 'HEAD' | 'POST' | 'DELETE')[] {
  return answersHead && methods.includes('GET') ? [...methods, 'HEAD'] : methods;
}

/** Ties a route's answer to the parameters that it declares; a `GET` unless it says otherwise. */
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
