import { ServiceError } from '../../../domain/text/errors.ts';
import { HttpError, jsonType } from '../replies/errors.ts';
import { defineRoute, type RouteReply, type Route, type RouteRequest } from '../service/route.ts';
import { array, booleanField, integer, map, object, text } from '../replies/schemas.ts';
import { startDeadline } from '../requests/selection.ts';
import { knownInventory } from './containers.ts';
import type { UpdateRuns } from './update.ts';
import type { HttpParts, Service } from '../service/parts.ts';

/** Answers for widgets and cards of What's Up Docker and Cup, so that they go on working. */
export function compatRoutes({ settings, clock }: HttpParts, runs: UpdateRuns): readonly Route[] {
  const shared = {
    group: 'compat',
    access: 'api token or password',
    needs: 'viewer',
    filter: 'applies',
    query: {},
  } as const;
  const notListed = {
    500: { description: 'The engine cannot be reached, and its events have ended' },
    503: { description: 'The engine has not been listed yet' },
  };
  const canUpdate = settings.groups.includes('update');
  const wudList = async (service: Service) => (await entries()).wudContainers(knownInventory(service).containers);

  async function wudContainer(service: Service, id: string) {
    const found = knownInventory(service).containers.find((container) => container.id === id);
    if (found === undefined) throw new HttpError(404, 'there is no container with this id');
    return found;
  }

  async function check({ service, caller: by }: RouteRequest, response: RouteReply['raw']): Promise<void> {
    if (!settings.groups.includes('check')) throw groupIsOff('check');
    const deadline = startDeadline(clock, settings.checkTimeoutMs, 'check');
    response.once('close', () => deadline.abort(new ServiceError('cancelled', 'Cannot check: the client has gone')));
    try {
      await service.check({ images: [], containers: [], trigger: 'http', by }, deadline.signal);
    } catch (error) {
      throw deadline.hasPassed() ? new HttpError(408, 'the check timed out') : error;
    } finally {
      deadline.clear();
    }
  }

  async function update(id: string, { service, caller: by }: RouteRequest, reply: RouteReply): Promise<void> {
    const { name, engine, kind = 'container' } = await wudContainer(service, id);
    const { exactName } = await entries();
    const named = { images: [], containers: [exactName(name)], kind } as const;
    const request = { ...named, ...(engine !== undefined && { engines: [engine] }) };
    await runs.begin(
      {
        begin: (onBegin, signal) => service.update({ ...request, trigger: 'http', by, onBegin }, signal),
        isQueued: true,
        inBackground: true,
        timeoutMs: settings.updateTimeoutMs,
      },
      reply.raw,
    );
  }

  return [
    defineRoute({
      ...shared,
      path: '/api/containers',
      summary: "List the containers as What's Up Docker does",
      description:
        "For widgets and cards of What's Up Docker. Below it are /api/containers/ID and /api/containers/ID/triggers; POST /api/containers/watch checks (group check), and POST /api/containers/ID/triggers/upkeep/update updates the container (group update).",
      replies: { 200: { description: 'The watched containers', schema: array(wudSchema) }, ...notListed },
      answer: async ({ request: { service } }, reply) => sendList(reply, await wudList(service)),
    }),
    defineRoute({
      ...shared,
      path: '/api/containers/*',
      describedAs: {},
      summary: "Show a container as What's Up Docker does",
      description: 'A container, its triggers, or the whole list.',
      replies: { 200: { description: 'The container' }, 404: { description: 'No such container' }, ...notListed },
      answer: async ({ request: { rest, service } }, reply) => {
        // Widgets write the path of the list with a slash, and old ones ask for `watch` with GET.
        if (rest === '' || rest === 'watch') return sendList(reply, await wudList(service));
        const [id = '', part, ...more] = rest.replace(/\/$/, '').split('/');
        const container = await wudContainer(service, id);
        if (part === undefined) return (await entries()).wudContainers([container])[0] ?? {};
        if (part !== 'triggers' || more.length > 0) throw new HttpError(404, 'not found');
        return sendList(reply, canUpdate ? [updateTrigger] : []);
      },
    }),
    defineRoute({
      ...shared,
      path: '/api/containers/*',
      methods: ['POST'],
      needs: 'operator',
      describedAs: {},
      summary: "Check, or update a container, as the buttons of a card for What's Up Docker ask",
      description: 'Checks all containers, or updates one.',
      replies: { 200: { description: 'Done, or begun' }, 404: { description: 'No such container or trigger' } },
      answer: async ({ request }, reply) => {
        const { rest, service } = request;
        const [id = '', part, type, name] = rest.replace(/\/$/, '').split('/');
        if (id === 'watch' && part === undefined) {
          await check(request, reply.raw);
          return sendList(reply, await wudList(service));
        }
        const isUpdate = part === 'triggers' && type === updateTrigger.type && name === updateTrigger.name;
        if (!isUpdate) throw new HttpError(404, 'there is no such trigger');
        if (!canUpdate) throw groupIsOff('update');
        await update(id, request, reply);
        return {};
      },
    }),
    defineRoute({
      ...shared,
      path: '/api/v3/json',
      summary: 'List the images as Cup does',
      description: 'For widgets of Cup: the images of the watched containers, and counts of their updates.',
      replies: { 200: { description: 'Images and counts', schema: cupSchema }, ...notListed },
      answer: async ({ request: { service } }) => (await entries()).cupReport(knownInventory(service), clock.nowMs()),
    }),
  ];
}

function groupIsOff(group: 'check' | 'update'): HttpError {
  return new HttpError(403, `the group "${group}" is not enabled: add it to --http-api-endpoints`);
}

/** Loaded at the first request only. */
function entries() {
  return import('../replies/compat-entries.ts');
}

function sendList(reply: RouteReply, list: readonly object[]): RouteReply {
  return reply.header('Content-Type', jsonType).send(JSON.stringify(list));
}

/** The only trigger of a container: the update by Upkeep. */
const updateTrigger = { id: 'upkeep.update', type: 'upkeep', name: 'update' } as const;

const wudSchema = object(
  {
    id: text('Id of the container'),
    name: text('Name of the container'),
    displayName: text('The same'),
    displayIcon: text('An icon'),
    identityKey: text('Engine and name, which an update does not change'),
    watcher: text('The engine; local if there is one only'),
    status: text('State of the container'),
    image: { type: 'object', description: 'Its image' },
    updateAvailable: booleanField('Whether there is a newer version, held back or not'),
    updateKind: { type: 'object', description: 'The step to the newer version' },
    labels: map(text('A label')),
  },
  {
    result: { type: 'object', description: 'The newer version' },
    error: { type: 'object', description: 'Why it could not be checked' },
    link: text('Address of the sources'),
  },
);

const cupSchema = object({
  metrics: map(integer('A number of images')),
  images: array({ type: 'object', description: 'An image' }),
  last_updated: text('The time of the newest check'),
});
