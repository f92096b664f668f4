import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { HttpError } from '../replies/errors.ts';
import { defineRoute, type RouteReply, type Route, type RouteRequest } from '../service/route.ts';
import type { HttpParts } from '../service/parts.ts';

/**
 * `GET /` and its files: the dashboard. The files contain no data, so they need no token. The page requests data from
 * the API with its user's token.
 */
export function dashboardRoutes({ settings, dashboardFolder }: HttpParts): readonly Route[] {
  const files = new Map<string, File>();
  const fileNamed = (name: string): File | undefined => {
    const type = types.get(name);
    if (type === undefined) return undefined;
    const file = files.get(name) ?? readFile(join(dashboardFolder, name), type, settings.groups);
    files.set(name, file);
    return file;
  };
  const shared = {
    group: 'dashboard',
    access: 'open',
    needs: 'nothing',
    filter: 'not concerned',
    isPageFile: true,
    describedAs: {},
    query: {},
  } as const;
  const replies = { 200: { description: 'The file' }, 304: { description: 'The file that the client has' } };
  return [
    defineRoute({
      ...shared,
      path: '/',
      summary: 'The dashboard',
      description: 'The dashboard.',
      replies,
      answer: ({ request }, reply) => send(fileNamed('index.html'), request, reply),
    }),
    defineRoute({
      ...shared,
      path: '/dashboard/*',
      summary: 'Files of the dashboard',
      description: 'Script, style and icon of the dashboard.',
      replies,
      answer: ({ request }, reply) =>
        send(request.rest === 'index.html' ? undefined : fileNamed(request.rest), request, reply),
    }),
  ];
}

type File = { readonly type: string; readonly body: Buffer; readonly tag: string; readonly policy: string };

const types: ReadonlyMap<string, string> = new Map([
  ['index.html', 'text/html; charset=utf-8'],
  ['page.js', 'text/javascript; charset=utf-8'],
  ['worker.js', 'text/javascript; charset=utf-8'],
  ['page.css', 'text/css; charset=utf-8'],
  ['icon.svg', 'image/svg+xml'],
]);

/** The document lists the enabled groups, so that the page requests no others. */
function readFile(path: string, type: string, groups: readonly string[]): File {
  const text = readFileSync(path, 'utf8').replace('name="upkeep-groups" content=""', () => {
    return `name="upkeep-groups" content="${groups.join(' ')}"`;
  });
  const body = Buffer.from(text);
  return { type, body, tag: `"${sha256(body).toString('base64url')}"`, policy: policyFor(text) };
}

function sha256(content: string | Buffer): Buffer {
  return createHash('sha256').update(content).digest();
}

function send(file: File | undefined, { raw }: RouteRequest, reply: RouteReply): RouteReply {
  if (file === undefined) throw new HttpError(404, 'not found');
  reply.headers({ 'Content-Security-Policy': file.policy, 'Cache-Control': 'no-cache', ETag: file.tag });
  if (hasTag(raw.headers['if-none-match'], file.tag)) return reply.code(304).send();
  return reply.header('Content-Type', file.type).send(file.body);
}

/**
 * All content comes from this server. Markup from strings is forbidden: https://w3c.github.io/trusted-types/dist/spec/
 * The script in the document is named by its hash: it has to work before any other file of the page can be found.
 */
function policyFor(text: string): string {
  const inline = [...text.matchAll(/<script>([^<]*)<\/script>/g)].map(([, script = '']) => sha256(script));
  return [
    "default-src 'none'",
    ["script-src 'self'", ...inline.map((hash) => `'sha256-${hash.toString('base64')}'`)].join(' '),
    "style-src 'self'",
    "img-src 'self'",
    "connect-src 'self'",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
    "require-trusted-types-for 'script'",
  ].join('; ');
}

/**
 * Whether `If-None-Match` has the entity tag, which is strong. `*` has every tag, and a weak tag matches too:
 * https://www.rfc-editor.org/rfc/rfc9110#name-if-none-match
 */
export function hasTag(header: string | undefined, tag: string): boolean {
  if (header === undefined) return false;
  return header.trim() === '*' || (header.match(/"[^"]*"/g)?.includes(tag) ?? false);
}
