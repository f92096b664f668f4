import type { PullRequest } from '../../../domain/outside/engine-writer.ts';
import { ServiceError } from '../../../domain/errors.ts';
import { parseImageReference, repositoryName } from '../../../domain/reference/image-reference.ts';
import { withoutSecrets } from '../../../domain/text/repeated-secret.ts';
import { formatPlatform } from '../../../domain/reference/platform.ts';
import { printable, quoted } from '../../../domain/text/printable.ts';
import type { Client } from '../transport/client.ts';
import { EngineFailure } from '../transport/failure.ts';
import { refusal } from '../reading/reads.ts';
import { jsonLines } from '../streams/json-lines.ts';
import { encodeCredentials, secretsOf } from './registry-auth.ts';
import { fields, text } from '../transport/json-fields.ts';
import { createPullProgress } from './pull-progress.ts';

/**
 * Pulls an image through the engine and reports its progress. An early error is a status; a later one is a line in a
 * successful answer. https://docs.docker.com/reference/api/engine/version/v1.51/#tag/Image/operation/ImageCreate
 */
export async function pullImage(client: Client, request: PullRequest, signal?: AbortSignal): Promise<void> {
  const { credentials, onProgress } = request;
  const progress = createPullProgress();
  try {
    const reply = await client.send({
      method: 'POST',
      path: '/images/create',
      query: pullQuery(request),
      ...(credentials && { headers: { 'x-registry-auth': encodeCredentials(credentials) } }),
      socket: 'own',
      patience: { for: 'silence', ms: request.idleTimeoutMs ?? client.deadlines.pullSilenceMs },
      signal,
    });
    if (reply.kind === 'error' && reply.isForbidden && !reply.fromEngine)
      throw refusal(`pull ${quoted(request.reference, 300)}`, reply);
    if (reply.kind === 'error') throw pullFailure(request, reply.message);
    for await (const line of jsonLines(reply.body)) {
      const error = errorIn(line);
      if (error !== '') throw pullFailure(request, error);
      if (progress.take(line)) onProgress?.(progress.sum());
    }
  } catch (error) {
    if (error instanceof EngineFailure && error.code === 'timeout') throw pullFailure(request, error.why);
    throw error;
  }
}

/** Without a tag the engine would pull every tag. `parseImageReference` always returns one. */
function pullQuery({ reference, platform }: PullRequest): Record<string, string | undefined> {
  const parsed = parseImageReference(reference);
  return {
    fromImage: repositoryName(parsed),
    tag: parsed.digest ?? parsed.tag,
    platform: platform && formatPlatform(platform),
  };
}

function errorIn(line: unknown): string {
  const { error, errorDetail } = fields(line);
  return text(fields(errorDetail)['message']) || text(error);
}

/** The error of a pull, with the registry's text. */
function pullFailure({ reference, credentials }: PullRequest, engineText: string): ServiceError {
  const remedy = remedies.find(({ sign }) => sign.test(engineText))?.remedy;
  const shown = withoutSecrets(
    printable(engineText.trim(), 1_000),
    credentials === undefined ? [] : secretsOf(credentials),
  );
  return new ServiceError('pull-failed', `Cannot pull ${quoted(reference, 300)}: ${shown}`, { remedy });
}

/** Texts of engines and registries, each with its remedy. */
const remedies: readonly { readonly sign: RegExp; readonly remedy: string }[] = [
  {
    sign: /toomanyrequests|too many requests|rate limit/i,
    remedy: 'Wait, check less often, or log in: the registry limits pulls',
  },
  {
    sign: /unauthori[sz]ed|authentication required|access denied|denied:|no basic auth|\b401\b|\b403\b/i,
    remedy: 'The registry requires a login, or does not have the image: run docker login and check the name',
  },
  { sign: /manifest unknown|not found|no such manifest/i, remedy: 'Check the name and the tag of the image' },
  { sign: /no space left on device/i, remedy: 'Free space on the disk of the engine' },
  {
    sign: /no matching manifest|no image found in/i,
    remedy: 'The image exists only for other platforms: use a tag for the platform of this engine',
  },
];
