import { words } from '../../../domain/text/words.ts';
import { stalenesses } from '../../../domain/check/verdict.ts';
import { containerStatuses, healthStatuses } from '../../../domain/container/container.ts';
import { outcomeKinds } from '../../../domain/run/session.ts';
import { serviceModes, swarmUpdateStatuses } from '../../../domain/container/swarm-service.ts';
import { detailsEntry, unfinishedField } from '../../json/entries.ts';
import {
  composeField,
  engineField,
  holdFields,
  kindField,
  notesFields,
  outcomeFields,
  versionFields,
  array,
  oneOf,
  integer,
  map,
  object,
  stamped,
  text,
  time,
  booleanField,
  type Fields,
  type JsonSchema,
} from '../replies/schemas.ts';
import {
  containerFilter,
  containerParameters,
  engineParameter,
  enginesIn,
  isOfImage,
  isOnOneOf,
} from '../requests/selection.ts';
import type { EventStreams } from '../events/event-streams.ts';
import type { HttpParts, Service } from '../service/parts.ts';
import { defineRoute, type Route, type RouteReply } from '../service/route.ts';
import type { Inventory, TrackedImage } from '../../../domain/inventory.ts';
import type { Clock } from '../../../domain/outside/outside.ts';
import { HttpError, jsonType } from '../replies/errors.ts';
import { replyFields } from '../../json/timestamps.ts';
import { text as textParameter } from '../requests/request.ts';

/** `GET /v1/containers` and `GET /v1/containers/details`: the watched containers, from memory. */
export function containerRoutes(
  { service: whole, clock }: HttpParts,
  streams: Pick<EventStreams, 'lastEventId'>,
): readonly Route[] {
  const list = createCachedList(
    {
      name: 'containers',
      items: ({ containers }) => containers,
      entry: ({ name, engine, image, imageId, digest, kind }) => ({
        name,
        image,
        image_id: imageId,
        digest,
        engine,
        kind,
      }),
    },
    whole,
    clock,
  );
  const detailedList = createCachedList(
    {
      name: 'containers',
      items: ({ containers }) => containers,
      entry: detailsEntry,
      extraFields: ({ unfinished }) => unfinishedField(unfinished),
    },
    whole,
    clock,
  );
  const shared = {
    group: 'containers',
    access: 'api token',
    needs: 'viewer',
    filter: 'applies',
    query: { ...containerParameters, ...engineParameter },
  } as const;
  const repliesWith = (schema: JsonSchema) => ({
    200: { description: 'The watched containers', schema },
    500: { description: 'The engine cannot be reached, and its events have ended' },
    503: { description: 'The engine has not been listed yet' },
  });
  return [
    defineRoute({
      ...shared,
      path: '/v1/containers',
      summary: 'List watched containers',
      description: 'Lists the watched containers, from memory.',
      replies: repliesWith(containersSchema),
      answer: ({ query, request: { service } }, reply) =>
        list(reply, service, containerFilter(query, enginesIn(query, service))),
    }),
    defineRoute({
      ...shared,
      path: '/v1/containers/details',
      summary: 'List watched containers in detail',
      description:
        'Lists the watched containers with their state and the settings in effect, from memory. Send its header X-Last-Event-Id as Last-Event-ID to /v1/events to miss no event after it.',
      replies: repliesWith(detailsListSchema),
      answer: ({ query, request: { service } }, reply) =>
        detailedList(
          reply.header('X-Last-Event-Id', streams.lastEventId()),
          service,
          containerFilter(query, enginesIn(query, service)),
        ),
    }),
  ];
}

const listedFields: Fields = {
  name: text('Name of the container'),
  image: text('Image reference with tag'),
  image_id: text('Local image config id'),
  digest: text('Registry digest of the image; empty for a locally built image'),
};

const containersSchema = stamped({
  containers: array(object(listedFields, { ...engineField, ...kindField })),
  count: integer('Number of entries'),
});

const settingSchema = object({
  name: text('Name of the option, or of the label if there is no option'),
  value: text('Its value for this container'),
  source: text('The label that sets it'),
});

const lastSchema = object(
  {
    outcome: oneOf(outcomeKinds, `Newest outcome of an update, other than fresh. ${words.listed(words.outcome)}`),
    at: time('Time of the outcome'),
    reason: text('Reason; empty if none is needed'),
    run_id: text('Id of the run in history'),
  },
  outcomeFields,
);

const detailsSchema = object(
  {
    ...listedFields,
    running: booleanField('Whether it runs'),
    watchtower: booleanField('Whether it is this service itself'),
    self: booleanField('Whether it is this service itself'),
    monitor_only: booleanField('Newer images are reported, and not applied'),
    no_pull: booleanField('No registry is contacted for it'),
    enabled: booleanField('Whether its enable label, or the default without one, permits updates'),
    stale: booleanField('A newer image would be applied by an update'),
    scope: text('Its scope; empty when it has none'),
    id: text('Container id'),
    created: time('When the container was created'),
    status: oneOf(containerStatuses, 'State of the container'),
    health: oneOf(healthStatuses, 'Result of its HEALTHCHECK'),
    update_available: booleanField('A newer image is available'),
    latest_digest: text('Newest registry digest, when known'),
    reason: text('Result of the last check'),
    depends_on: array(text('Name of a container')),
    labels_in_effect: map(text('Value of the label')),
    settings: array(settingSchema),
    can_roll_back: booleanField('Whether POST /v1/rollback can roll it back'),
  },
  {
    started_at: time('Start of its process; absent without a process, or if unknown'),
    checked_at: time('When it was last checked; absent before the first check'),
    project: text('Its Compose project'),
    verdict: oneOf(stalenesses, `Result of the last check; absent before the first. ${words.listed(words.verdict)}`),
    ...versionFields,
    ...holdFields,
    ...composeField,
    ...notesFields,
    ...engineField,
    ...kindField,
    mode: oneOf(serviceModes, 'Of a service: its mode'),
    replicas: object({ wanted: integer('Tasks that should run'), running: integer('Tasks that run') }),
    update_state: oneOf(swarmUpdateStatuses, 'Of a service: the state of its last update in the swarm'),
    last: lastSchema,
  },
);

const unfinishedSchema = object(
  {
    name: text('Name of the container'),
    image: text('Image reference as the engine lists it'),
    state: oneOf(
      ['in progress', 'repair pending'],
      'in progress: a running process works on it; repair pending: the next run or start repairs it',
    ),
    reason: text('Why the container is in this state'),
  },
  { down: booleanField('Present if neither its old nor its new container runs, though it ran before the update') },
);

const detailsListSchema = stamped(
  { containers: array(detailsSchema), count: integer('Number of entries') },
  { unfinished: array(unfinishedSchema) },
);

/** `GET /v1/images`: the images of the watched containers, from memory. */
export function imagesRoute({ service: whole, clock }: HttpParts): Route {
  const list = createCachedList({ name: 'images', items: imagesByName, entry: entryOf }, whole, clock);
  return defineRoute({
    group: 'images',
    path: '/v1/images',
    access: 'api token',
    needs: 'viewer',
    filter: 'applies',
    summary: 'List tracked images',
    description: 'Lists the images of the watched containers, sorted by name, from memory.',
    query: {
      name: textParameter('Only images of this reference; without a tag, any tag'),
      id: textParameter('Only the image with this id, or with an id that begins like this if there is only one'),
      ...engineParameter,
    },
    replies: {
      200: { description: 'The tracked images', schema: imagesSchema },
      500: { description: 'The engine cannot be reached, and its events have ended' },
      503: { description: 'The engine has not been listed yet' },
    },
    answer: ({ query, request: { service } }, reply) => {
      const { name, id } = query;
      const engines = enginesIn(query, service);
      if (name === undefined && id === undefined && engines.length === 0) return list(reply, service);
      const images = service.inventory().images.filter((image) => isOnOneOf(engines, image));
      const wanted = id === undefined ? undefined : imageIdMeant(id, images);
      return list(
        reply,
        service,
        (image) =>
          isOnOneOf(engines, image) &&
          (name === undefined || image.name === name || isOfImage(image.name, name)) &&
          (id === undefined || image.imageId === wanted),
      );
    },
  });
}

const imagesSchema = stamped({
  images: array(
    object(
      {
        name: text('Image reference'),
        image_id: text('Local image id'),
        digest: text('Registry digest; empty for a locally built image'),
        containers: integer('Watched containers that run it'),
      },
      engineField,
    ),
  ),
  count: integer('Number of entries'),
});

function entryOf({ name, engine, imageId, digest, containers }: TrackedImage) {
  return { name, image_id: imageId, digest, containers, engine };
}

function imagesByName({ images }: { readonly images: readonly TrackedImage[] }): readonly TrackedImage[] {
  const key = ({ name, imageId }: TrackedImage): string => `${name} ${imageId}`;
  return [...images].sort((a, b) => (key(a) < key(b) ? -1 : 1));
}

/** The id itself, or the only id that begins with the text. `sha256:` is optional. */
function imageIdMeant(text: string, images: readonly TrackedImage[]): string | undefined {
  const wanted = text.toLowerCase().replace(/^sha256:/, '');
  const ids = [...new Set(images.map(({ imageId }) => imageId))];
  const meant = ids.filter((id) => id.replace(/^sha256:/, '').startsWith(wanted));
  return ids.find((id) => id === text) ?? (meant.length === 1 ? meant[0] : undefined);
}

type ListOf<Item> = {
  /** Field name of the list in the reply. */
  readonly name: string;
  readonly items: (view: Inventory) => readonly Item[];
  readonly entry: (item: Item) => object;
  /** Further fields, if there are any. */
  readonly extraFields?: (view: Inventory) => object;
};

/**
 * Replies with the entries that pass the filter, without a filter with all. Throws 503 before the first listing, and
 * 500 while the inventory may be outdated.
 */
type CachedList<Item> = (reply: RouteReply, service: Listed, keep?: (item: Item) => boolean) => RouteReply;

type Listed = Pick<Service, 'inventory' | 'inventoryFailure'>;

/**
 * The whole list of `whole` is serialised once for each change of the inventory, and the reply made once a second. Any
 * other request for it without a filter only costs a copy.
 */
function createCachedList<Item>(
  { name, items, entry, extraFields = () => ({}) }: ListOf<Item>,
  whole: Listed,
  clock: Clock,
): CachedList<Item> {
  let revision = -1;
  let entries = '';
  let madeInSecond = -1;
  let body = Buffer.alloc(0);

  const write = (view: Inventory, chosen: readonly Item[]): string => {
    const fields = JSON.stringify(extraFields(view)).slice(1, -1);
    const more = fields === '' ? '' : `,${fields}`;
    return `{"${name}":${JSON.stringify(chosen.map(entry))},"count":${chosen.length}${more}`;
  };
  const finish = (text: string): string => `${text},${JSON.stringify(replyFields(clock.nowMs())).slice(1)}`;

  const all = (): Buffer => {
    const view = knownInventory(whole);
    const second = Math.floor(clock.nowMs() / 1000);
    if (view.revision === revision && second === madeInSecond) return body;
    if (view.revision !== revision) entries = write(view, items(view));
    revision = view.revision;
    madeInSecond = second;
    body = Buffer.from(finish(entries));
    return body;
  };
  return (reply, service, keep) => {
    const isWhole = keep === undefined && service === whole;
    const some = (view: Inventory) => finish(write(view, keep === undefined ? items(view) : items(view).filter(keep)));
    return reply.header('Content-Type', jsonType).send(isWhole ? all() : some(knownInventory(service)));
  };
}

/** Throws 503 before the first listing, and 500 while the inventory may be outdated. */
export function knownInventory({
  inventory,
  inventoryFailure,
}: Pick<Service, 'inventory' | 'inventoryFailure'>): Inventory {
  const view = inventory();
  if (!view.known) throw new HttpError(503, 'the container engine has not been listed yet', { 'Retry-After': '5' });
  const failure = inventoryFailure();
  if (failure !== undefined) throw failure;
  return view;
}
