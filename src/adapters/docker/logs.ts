import { quoted } from '../../domain/printable.ts';
import { maxAnswerBytes } from './answer.ts';
import type { Client } from './client.ts';
import { containerPath } from './containers.ts';
import { logPayloads } from './log-frames.ts';
import { read, refusal } from './reads.ts';
import { fields } from './wire.ts';

/** What is handed on at most, of the end; and how much is read to find it. */
const keptBytes = 65_536;

/** https://docs.docker.com/reference/api/engine/version/v1.51/#tag/Container/operation/ContainerLogs */
export async function containerLogs(
  client: Client,
  id: string,
  { tail }: { readonly tail: number },
  signal?: AbortSignal,
): Promise<string> {
  const doing = `read the log of the container ${quoted(id)}`;
  const path = containerPath(id);
  // Below API 1.42 the answer itself does not tell frames from the bare output of a terminal.
  const inspected = await read(client, { doing, path: `${path}/json`, signal });
  const reply = await client.send({
    method: 'GET',
    path: `${path}/logs`,
    query: { stdout: '1', stderr: '1', tail: String(tail) },
    socket: 'own',
    patience: { for: 'whole', ms: client.deadlines.readMs },
    signal,
  });
  if (reply.kind === 'error') throw refusal(doing, reply);
  const hasTerminal = fields(fields(inspected)['Config'])['Tty'] === true;
  return await lastText(hasTerminal ? reply.body : logPayloads(reply.body));
}

async function lastText(chunks: AsyncIterable<Uint8Array>): Promise<string> {
  let kept: Uint8Array[] = [];
  let keptLength = 0;
  let seen = 0;
  for await (const chunk of chunks) {
    kept.push(chunk);
    keptLength += chunk.length;
    seen += chunk.length;
    if (seen > maxAnswerBytes) break;
    if (keptLength <= 2 * keptBytes) continue;
    kept = [Buffer.concat(kept).subarray(-keptBytes)];
    keptLength = keptBytes;
  }
  const end = Buffer.concat(kept).subarray(-keptBytes);
  return end.subarray(startOfCharacter(end)).toString('utf8');
}

/** Where a cut went through a character, its rest is left out: https://www.rfc-editor.org/rfc/rfc3629#section-3 */
function startOfCharacter(bytes: Buffer): number {
  let at = 0;
  while (at < 3 && ((bytes[at] ?? 0) & 0xc0) === 0x80) at++;
  return at;
}
