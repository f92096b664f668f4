import { quoted } from '../../../domain/text/printable.ts';
import { maxAnswerBytes } from '../transport/answer.ts';
import type { Client } from '../transport/client.ts';
import { containerPath } from './containers.ts';
import { createTextTail, logPayloads } from '../streams/command-output.ts';
import { read, refusal } from '../reading/reads.ts';
import { fields } from '../transport/json-fields.ts';

/** https://docs.docker.com/reference/api/engine/version/v1.51/#tag/Container/operation/ContainerLogs */
export async function containerLogs(
  client: Client,
  id: string,
  { tail }: { readonly tail: number },
  signal?: AbortSignal,
): Promise<string> {
  const doing = `read the log of the container ${quoted(id)}`;
  const path = containerPath(id);
  // Below API 1.42 the answer does not show whether it consists of frames or of plain terminal output.
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
  const tail = createTextTail();
  let seen = 0;
  for await (const chunk of chunks) {
    tail.add(chunk);
    seen += chunk.length;
    if (seen > maxAnswerBytes) break;
  }
  return tail.text();
}
