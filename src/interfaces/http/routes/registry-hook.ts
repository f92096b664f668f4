import { replyFields } from '../../json/timestamps.ts';
import { HttpError } from '../replies/errors.ts';
import { array, oneOf, stamped, text } from '../replies/schemas.ts';
import { bufferedBytes, text as textParameter, unlisted } from '../requests/request.ts';
import type { HttpParts } from '../service/parts.ts';
import type { RegistryHints } from '../service/registry-hints.ts';
import { defineRoute, type Route } from '../service/route.ts';

/** `POST /v1/hooks/registry`: a registry says that it has a new image. The body is a hint to check, and no order. */
export function registryHookRoute({ service, clock }: HttpParts, hints: RegistryHints): Route {
  return defineRoute({
    group: 'webhooks',
    path: '/v1/hooks/registry',
    methods: ['POST'],
    access: 'webhook secret',
    needs: 'nothing',
    filter: 'not concerned',
    summary: 'Take the webhook of a registry',
    description:
      'Takes the webhook of Docker Hub, GHCR, GitLab, Gitea, Forgejo, Harbor, Quay, ACR, Event Grid, ECR, distribution, Nexus or Artifactory, and checks the containers of the repository that it names. Proof is the secret, as a token, in the parameter token, or a signature of the body with it.',
    query: {
      kind: textParameter('The registry, such as harbor; by default it is recognised'),
      token: unlisted(textParameter('The secret, for registries that send no header')),
    },
    maxForeignBytes: 262_144,
    replies: {
      200: { description: 'The answer to the validation of Event Grid; without a body for it, this is not sent' },
      202: {
        description: 'The webhook was taken',
        schema: stamped({
          matched: array(text('Name of a watched container of the repository')),
          status: oneOf(['accepted', 'ignored'], 'ignored: it is about no image of a watched container'),
        }),
      },
      503: { description: 'Too many large requests at once' },
    },
    answer: async ({ query, request: { raw } }, reply) => {
      const body = bufferedBytes(raw);
      const { readDelivery, containersPushed, hookKinds } = await import('../requests/pushed-images.ts');
      const kind = hookKinds.find((each) => each === (query.kind ?? 'auto'));
      if (kind === undefined)
        throw new HttpError(400, `invalid query parameter "kind": expected one of ${hookKinds.join(', ')}`);
      const { pushes, validationCode } = readDelivery(body, raw.headers, kind);
      if (validationCode !== undefined) return { validationResponse: validationCode };
      const { repositories, names } = containersPushed(pushes, service.inventory().containers);
      hints.add(repositories);
      reply.code(202);
      const status = names.length > 0 ? 'accepted' : 'ignored';
      return { matched: names, status, ...replyFields(clock.nowMs()) };
    },
  });
}
