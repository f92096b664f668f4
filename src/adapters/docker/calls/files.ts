import type { CallOutcome, EngineReader } from '../../../domain/outside/engine.ts';
import type { FileChange, FileStat } from '../../../domain/container/placed-files.ts';
import { arrayOf, isJsonObject, parseJson } from '../../../domain/text/json.ts';
import { ServiceError } from '../../../domain/text/errors.ts';
import { quoted } from '../../../domain/text/printable.ts';
import { capabilitiesOf, isNotFound, refusal, unexpectedAnswer, errorOutcome, outcomeOf } from './calls.ts';
import {
  megabyte,
  readAnswer,
  readBytes,
  count,
  fields,
  isDefined,
  text,
  type EngineError,
} from '../transport/answer.ts';
import type { Client, Reply } from '../transport/client.ts';
import type { EngineResponse } from '../transport/request.ts';
import { containerPath } from './containers.ts';

/** https://docs.docker.com/reference/api/engine/version/v1.51/#tag/Container/operation/ContainerChanges */
export async function containerChanges(
  client: Client,
  id: string,
  signal?: AbortSignal,
): ReturnType<EngineReader['containerChanges']> {
  const doing = `list the changed files of the container ${quoted(id)}`;
  const path = `${containerPath(id)}/changes`;
  // Some storage drivers compare all files.
  const timeLimit = { for: 'whole', ms: client.deadlines.changeMs } as const;
  const reply = await client.send({ method: 'GET', path, socket: 'own', timeLimit, signal });
  if (reply.kind === 'error') {
    // Podman: 500 "… not found: layer not known".
    if (isNotFound(reply) || /\bnot found: layer not known$/.test(reply.message)) return 'absent';
    throw refusal(doing, reply);
  }
  const bytes = await readBytes(reply.body, maxChangesBytes);
  if (bytes.length > maxChangesBytes) return 'too many';
  const answer = parseJson(bytes.toString('utf8'));
  // Docker answers `null` when there is none.
  if (!Array.isArray(answer) && answer !== null) throw unexpectedAnswer(doing, 'a list of files');
  return arrayOf(answer).map(readChange).filter(isDefined);
}

/** A hundred bytes for a path. */
const maxChangesBytes = 32 * megabyte;

function readChange(entry: unknown): FileChange | undefined {
  const { Path, Kind } = fields(entry);
  const kind = (['changed', 'added', 'removed'] as const)[count(Kind)];
  const path = text(Path);
  return kind === undefined || !path.startsWith('/') ? undefined : { path, kind };
}

/** https://docs.docker.com/reference/api/engine/version/v1.51/#tag/Container/operation/ContainerArchiveInfo */
export async function statFile(
  client: Client,
  id: string,
  path: string,
  signal?: AbortSignal,
): Promise<FileStat | undefined> {
  const reply = await askForArchive(client, 'HEAD', id, path, signal);
  const stat = readStat(reply.headers[statHeader]);
  if (reply.kind === 'ok') {
    await readAnswer(reply.body);
    if (stat === undefined) throw unexpectedAnswer(`look at ${shown(path, id)}`, 'the description of a file');
    return stat;
  }
  // Podman answers 404 with a description for a link that leads nowhere.
  if (stat !== undefined) return stat;
  if (isAbsent(reply)) return undefined;
  throw refusal(`look at ${shown(path, id)}`, reply);
}

/** https://docs.docker.com/reference/api/engine/version/v1.51/#tag/Container/operation/ContainerArchive */
export async function readFiles(
  client: Client,
  id: string,
  path: string,
  { maxBytes, isFolderOnly = false }: Parameters<EngineReader['readFiles']>[2],
  signal?: AbortSignal,
): Promise<Uint8Array | undefined> {
  const doing = `read ${shown(path, id)}`;
  const { dockerWords } = capabilitiesOf(await client.version(signal));
  if (!dockerWords && (await statFile(client, id, path, signal))?.kind === 'link')
    throw new ServiceError('engine-refused', `Cannot ${doing}: it is a link, which Podman follows`);
  const reply = await askForArchive(client, 'GET', id, path, signal);
  if (reply.kind === 'error') {
    if (isNotFound(reply)) return undefined;
    throw refusal(doing, reply);
  }
  if (isFolderOnly) return await firstEntry(reply.body, doing);
  const bytes = await readBytes(reply.body, maxBytes);
  if (bytes.length <= maxBytes) return bytes;
  const limit = `${Math.round(maxBytes / megabyte)} MB`;
  throw new ServiceError('engine-refused', `Cannot ${doing}: it is larger than ${limit}`);
}

/**
 * Keeps the owner of each file. The type of the content matters: the engine would read the body as a form.
 * https://docs.docker.com/reference/api/engine/version/v1.51/#tag/Container/operation/PutContainerArchive
 */
export function writeFiles(client: Client, id: string, folder: string, archive: Uint8Array): Promise<CallOutcome> {
  return outcomeOf<CallOutcome>(client, async () => {
    const timeLimit = { for: 'whole', ms: client.deadlines.changeMs } as const;
    const to = { path: `${containerPath(id)}/archive`, query: { path: folder } };
    const reply = await client.send({ method: 'PUT', ...to, archive, socket: 'own', timeLimit });
    if (reply.kind === 'error') return errorOutcome(reply);
    await readAnswer(reply.body);
    return { kind: 'done' };
  });
}

const statHeader = 'x-docker-container-path-stat';

function askForArchive(
  client: Client,
  method: 'GET' | 'HEAD',
  id: string,
  path: string,
  signal?: AbortSignal,
): Promise<Reply> {
  const timeLimit = { for: 'silence', ms: client.deadlines.readMs } as const;
  const socket = method === 'HEAD' ? 'shared' : 'own';
  return client.send({ method, path: `${containerPath(id)}/archive`, query: { path }, socket, timeLimit, signal });
}

/** A HEAD has no body, so only its headers show that the engine has answered. */
function isAbsent({ headers, status, ...error }: EngineError & Pick<Reply, 'headers'>): boolean {
  return isNotFound({ status, ...error }) || (status === 404 && headers['api-version'] !== undefined);
}

function readStat(header: string | readonly string[] | undefined): FileStat | undefined {
  const stat = typeof header === 'string' ? parseJson(Buffer.from(header, 'base64').toString('utf8')) : undefined;
  if (!isJsonObject(stat)) return undefined;
  return { kind: kindOf(count(stat['mode'])), size: count(stat['size']), modifiedAt: text(stat['mtime']) };
}

/** The bits of https://pkg.go.dev/io/fs#FileMode. */
function kindOf(mode: number): FileStat['kind'] {
  const has = (bit: number) => Math.floor(mode / 2 ** bit) % 2 === 1;
  if (has(31)) return 'folder';
  if (has(27)) return 'link';
  return [26, 25, 24, 21, 19].some(has) ? 'other' : 'file';
}

/**
 * The first entry of a tar archive, as an archive of its own:
 * https://www.gnu.org/software/tar/manual/html_node/Standard.html. Entries of other kinds may precede it with its long
 * name or more of its attributes.
 */
async function firstEntry(body: EngineResponse['body'], doing: string): Promise<Uint8Array> {
  let bytes = Buffer.alloc(0);
  let at = 0;
  for await (const chunk of body) {
    bytes = Buffer.concat([bytes, chunk]);
    for (; bytes.length >= at + tarBlock;) {
      const type = bytes.toString('latin1', at + 156, at + 157);
      if (!'xgLK'.includes(type) || type === '') return Buffer.concat([bytes.subarray(0, at + tarBlock), tarEnd]);
      const size = Number.parseInt(bytes.toString('latin1', at + 124, at + 135), 8) || 0;
      at += tarBlock + Math.ceil(size / tarBlock) * tarBlock;
    }
    if (bytes.length > megabyte) break;
  }
  throw unexpectedAnswer(doing, 'an archive');
}

const tarBlock = 512;
const tarEnd = Buffer.alloc(2 * tarBlock);

function shown(path: string, id: string): string {
  return `${quoted(path, 300)} in the container ${quoted(id)}`;
}
