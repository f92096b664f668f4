import { describeError } from '../../domain/text/errors.ts';
import {
  isFor,
  leastLevelOf,
  watchesRuns,
  type TargetStatus,
  type NotificationSettings,
  type Message,
  type MessageLevel,
  type Target,
} from '../../domain/notification/message.ts';
import type { Outside, Clock, Log } from '../../domain/outside/outside.ts';
import { openDelivery, type DeliveryParts, type Delivery } from './delivery.ts';
import {
  boundedDraft,
  partOfRun,
  findingOf,
  findingOfRepair,
  isAlwaysNews,
  isNews,
  keyOfRepaired,
  type Composer,
  type Draft,
  type RunFacts,
  type StartFacts,
  type RunStep,
  type Finding,
} from '../../domain/notification/run-facts.ts';
import { createUpkeepComposer } from '../../domain/notification/upkeep-composer.ts';
import { createWatchtowerComposer, type WatchtowerTextOptions } from '../../domain/notification/watchtower-composer.ts';
import type { RecoveredTransaction, ServiceEvent } from '../../domain/run/event.ts';
import { entryKeyOf, type ContainerOutcome } from '../../domain/run/session.ts';
import { releaseTimeOf, type ReleaseTime } from '../../domain/notification/outbox.ts';
import { putNewest } from '../../domain/text/plain-data.ts';

type Notifications = Pick<Notifier, 'handleEvent' | 'started' | 'failed'> & {
  readonly status: () => readonly TargetStatus[];
  /** Takes at most 5 s. */
  readonly close: () => Promise<void>;
};

type NotificationParts = Pick<Outside, 'clock' | 'log' | 'newId'> &
  Pick<NotifierParts, 'targets' | 'settings' | 'composer' | 'dataOfRun'> &
  Pick<DeliveryParts, 'store' | 'chance' | 'ending'> & { readonly engine: Pick<Outside['engine'], 'inspectImage'> };

/** Makes messages from events, and sends them. */
export async function openNotifications(parts: NotificationParts): Promise<Notifications> {
  const { settings, engine, log, clock } = parts;
  const closing = new AbortController();
  const delivery = await openDelivery({ ...parts, retryMs: settings.retryMs });
  const notifier = createNotifier({ ...parts, delivery, labelsOfImage });

  async function labelsOfImage(imageId: string): Promise<Readonly<Record<string, string>> | undefined> {
    try {
      return (await engine.inspectImage(imageId, closing.signal))?.labels;
    } catch (error) {
      log.debug('No release notes: the image cannot be inspected', { imageId, error: describeError(error) });
      return undefined;
    }
  }

  return {
    handleEvent: notifier.handleEvent,
    started: notifier.started,
    failed: notifier.failed,
    status: delivery.status,
    async close() {
      // An engine that does not answer must not block the message about it.
      const settled = new AbortController();
      const late = clock.sleep(maxLookingUpMs, settled.signal).then(
        () => closing.abort(),
        () => undefined,
      );
      await notifier.flush();
      settled.abort();
      await late;
      await delivery.close();
    },
  };
}

/** Time for reading labels of images after the process was told to stop. */
const maxLookingUpMs = 500;

type ComposerParts = Pick<WatchtowerTextOptions, 'hostname' | 'timeZone' | 'onTemplateFailure'>;

/** Writes messages in the style of the settings. Templates get the data of the Watchtower family in every style. */
export function createComposer(settings: NotificationSettings, parts: ComposerParts): Composer {
  const isOurs = settings.style === 'upkeep';
  if (isOurs && settings.template === undefined) return createUpkeepComposer({ ...settings, ...parts });
  return createWatchtowerComposer({ ...settings, ...parts, product: isOurs ? 'Upkeep' : 'Watchtower updates' });
}

/** Makes messages from events, for the targets that subscribe to them. */
type Notifier = {
  /** For `subscribe`: returns at once. */
  readonly handleEvent: (event: ServiceEvent) => void;
  readonly started: (facts: StartFacts) => void;
  /**
   * Called when the service could not start or had to stop, outside of a run. Failures that a run has reported are not
   * reported again.
   */
  readonly failed: (error: unknown) => void;
  /** Resolves when a message has been written for every event so far. */
  readonly flush: () => Promise<void>;
};

type NotifierParts = {
  readonly targets: readonly Target[];
  readonly settings: NotificationSettings;
  readonly composer: Composer;
  readonly delivery: Pick<Delivery, 'put' | 'foundAtMs' | 'noteFound'>;
  /** The data of a run for a webhook: plain JSON values. */
  readonly dataOfRun: (facts: RunFacts) => unknown;
  /** The labels of an image in the engine. Undefined where they are not known. Never throws. */
  readonly labelsOfImage: (imageId: string) => Promise<Readonly<Record<string, string>> | undefined>;
  readonly clock: Pick<Clock, 'nowMs'>;
  readonly log: Log;
  readonly newId: () => string;
};

export function createNotifier(parts: NotifierParts): Notifier {
  const { targets, settings, composer, delivery, dataOfRun, labelsOfImage, clock, log, newId } = parts;
  let pending: Promise<void> = Promise.resolve();
  let lastError: string | undefined;
  const gather = collectRuns(enqueueRun);
  const findNews = createNewsFinder({ foundAtMs: delivery.foundAtMs, nowMs: clock.nowMs, repeat: settings.repeat });

  function enqueueRun(run: CollectedRun): void {
    lastError = run.error;
    pending = pending
      .then(() => notifyAboutRun(run))
      .catch((error: unknown) =>
        log.error('A run could not be reported', { runId: run.runId, error: describeError(error) }),
      );
  }

  async function notifyAboutRun(run: CollectedRun): Promise<void> {
    // The caller of a check reads its answer, so no message is sent. The Watchtower family does send one.
    if (run.purpose === 'check' && settings.style !== 'watchtower') return;
    const { recipients, ...gathered } = run;
    const { reported, keys } = findNews.inRun(gathered.containers);
    const news = new Set(reported.map(entryKeyOf));
    const facts: RunFacts = { ...gathered, news, imageLabels: await imageLabelsOf(gathered) };
    const watchers = targets.filter(watchesRuns);
    if (run.purpose === 'update') for (const target of watchers) postEnd(facts, target);
    const split = settings.splitByContainer && facts.error === undefined ? splitByContainer(facts) : [facts];
    for (const part of split)
      for (const target of targets) if (!watchesRuns(target)) notifyAboutPart(part, target, recipients);
    if (keys.length > 0) delivery.noteFound(keys);
  }

  /** A dead man's switch raises an alarm when messages stop, so it gets one for every run. */
  function postEnd(facts: RunFacts, target: Target): void {
    const { runId: id, startedAtMs, endedAtMs, error, containers } = facts;
    const isWell =
      error === undefined && !containers.some(({ outcome }) => outcome === 'failed' || outcome === 'rolled_back');
    const draft = composer.run({ ...facts, news: new Set(containers.map(entryKeyOf)) }, 'debug') ?? emptyDraft;
    const durationMs = Math.max(0, endedAtMs - startedAtMs);
    put(target, draft, { id, run: { kind: isWell ? 'success' : 'failure', id, durationMs } });
  }

  function notifyAboutStart({ runId: id }: ServiceEvent & { kind: 'scan_started' }): void {
    for (const target of targets)
      if (target.wantsRunStart === true)
        put(target, { ...emptyDraft, text: '' }, { id: `${id}-start`, run: { kind: 'start', id } });
  }

  function notifyAboutPart(facts: RunFacts, target: Target, recipients: CollectedRun['recipients']): void {
    const own = partOfRun(facts, (key) => isRecipient(target, key, recipients));
    if (own.containers.length === 0 && facts.containers.length > 0) return;
    if (own.news.size === 0 && facts.error === undefined && !settings.repeat) return;
    const type = own.error === undefined ? 'session.completed' : 'session.failed';
    const event = isWebhook(target) ? { event: { type, data: dataOfRun(own) } } : {};
    post(target, (least) => composer.run(own, least), { id: facts.runId, ...event });
  }

  function notifyAboutRepairs(transactions: readonly RecoveredTransaction[]): void {
    const { reported, keys } = findNews.inRepairs(transactions);
    if (reported.length === 0) return;
    const [atMs, id] = [clock.nowMs(), newId()];
    for (const target of targets) {
      const own = reported.filter((one) => isAbout(target, one));
      if (own.length > 0 && !watchesRuns(target))
        post(target, (least) => composer.repairs({ transactions: own, atMs }, least), { id });
    }
    if (keys.length > 0) delivery.noteFound(keys);
  }

  /** A recipient of one container gets the message about its whole transaction. */
  function isAbout(target: Target, { containers, recipients = {} }: RecoveredTransaction): boolean {
    return containers.some((name) => isRecipient(target, name, recipients));
  }

  function isRecipient(target: Target, key: string, recipients: CollectedRun['recipients']): boolean {
    return isFor(target, Object.hasOwn(recipients, key) ? recipients[key] : undefined, targets);
  }

  async function imageLabelsOf({ containers }: Pick<RunFacts, 'containers'>): Promise<RunFacts['imageLabels']> {
    const tried = containers.filter(({ outcome }) => outcome === 'updated' || outcome === 'rolled_back');
    const images = tried.flatMap(({ oldImageId, newImageId }) => [newImageId, oldImageId]).filter((id) => id !== '');
    const ids = [...new Set(images)].slice(0, maxImages);
    const labels = await Promise.all(ids.map(async (id) => [id, (await labelsOfImage(id)) ?? {}] as const));
    return new Map(labels);
  }

  function post(target: Target, compose: (least: MessageLevel) => Draft | undefined, of: About): void {
    const least = leastLevelOf(target, settings);
    const draft = compose(least);
    if (draft === undefined || draft.text === '') return;
    const id = `${of.id}-${newId().slice(0, 8)}`;
    // Messages for webhooks are never merged.
    const release = isWebhook(target) ? undefined : releaseTimeOf(draft.level, clock.nowMs(), settings);
    put(target, draft, { ...of, id }, release);
  }

  function put(target: Target, draft: Draft, of: About, release?: ReleaseTime): void {
    // Only a message on hold is merged later, so only it keeps its sections.
    const { sections, ...whole } = boundedDraft(draft);
    const parts = release?.hold === undefined || sections === undefined ? {} : { sections };
    const message: Message = { ...whole, ...parts, ...of, createdAtMs: clock.nowMs() };
    delivery.put({ target: target.name, message, ...release });
  }

  return {
    handleEvent(event) {
      if (event.kind === 'scan_started' && event.purpose === 'update') notifyAboutStart(event);
      if (event.kind === 'earlier_updates_settled') notifyAboutRepairs(event.transactions);
      gather(event);
    },
    started(facts) {
      if (!settings.startupMessage) return;
      const id = newId();
      for (const target of targets) {
        const event = isWebhook(target) ? { event: { type: 'service.started', data: {} } } : {};
        post(target, (least) => composer.start(facts, least), { id, ...event });
      }
    },
    failed(error) {
      const [reason, atMs] = [describeError(error), clock.nowMs()];
      if (reason === lastError) return;
      const nothing = { containers: [], steps: [], removedImages: [], recipients: {} };
      enqueueRun({
        ...nothing,
        runId: newId(),
        purpose: 'update',
        trigger: 'start',
        startedAtMs: atMs,
        endedAtMs: atMs,
        error: reason,
      });
    },
    flush: () => pending,
  };
}

type About = Pick<Message, 'id' | 'run' | 'event'>;

/** Only webhooks send the data of the event. Other messages would grow without need. */
function isWebhook({ service }: Target): boolean {
  return service === 'webhook';
}

const emptyDraft: Draft = { title: '', text: 'Nothing new', level: 'info', lines: [] };

/** Versions and links of more images are too long to read. */
const maxImages = 100;

/** Splits a run into one for each container with something to report. */
function splitByContainer(facts: RunFacts): readonly RunFacts[] {
  return [...facts.news].map((one) => partOfRun(facts, (key) => key === one));
}

/** The items to report, and the keys of the new findings among them. */
type News<Item> = { readonly reported: readonly Item[]; readonly keys: readonly string[] };

type Find<Item> = (items: readonly Item[]) => News<Item>;

type NewsParts = Pick<Delivery, 'foundAtMs'> & { readonly nowMs: () => number; readonly repeat: boolean };

/** Omits findings that were reported before, unless they are to be repeated. */
function createNewsFinder({ foundAtMs, nowMs, repeat }: NewsParts): {
  readonly inRun: Find<ContainerOutcome>;
  readonly inRepairs: Find<RecoveredTransaction>;
} {
  function find<Item>(
    items: readonly Item[],
    findIn: (item: Item) => Finding | undefined,
    isAlways: (item: Item) => boolean,
  ): News<Item> {
    const keys: string[] = [];
    const reported = items.filter((item) => {
      const finding = findIn(item);
      const isNew = finding !== undefined && isNews(finding, foundAtMs(finding.key), nowMs());
      if (isNew) keys.push(finding.key);
      return isNew || isAlways(item) || (finding !== undefined && repeat);
    });
    return { reported, keys };
  }

  return {
    inRun: (containers) => find(containers, findingOf, isAlwaysNews),
    inRepairs(transactions) {
      const { reported, keys } = find(
        transactions.filter(({ looksAlike }) => !looksAlike),
        findingOfRepair,
        (transaction) => {
          const finding = findingOfRepair(transaction);
          if (finding === undefined) return true;
          const endedAtMs = foundAtMs(keyOfRepaired(transaction));
          return endedAtMs !== undefined && endedAtMs >= (foundAtMs(finding.key) ?? 0);
        },
      );
      const open = reported.flatMap((one) => findingOfRepair(one)?.key ?? keyOfRepaired(one));
      return { reported, keys: [...new Set([...keys, ...open])] };
    },
  };
}

/** A finished run, before its links and versions are looked up. */
type CollectedRun = Omit<RunFacts, 'news' | 'imageLabels'> & {
  /** Targets from the labels of containers, by `entryKeyOf`. */
  readonly recipients: Readonly<Record<string, readonly string[]>>;
};

type OpenRun = Pick<CollectedRun, 'runId' | 'purpose' | 'trigger' | 'by' | 'startedAtMs'> & {
  recipients: CollectedRun['recipients'];
  readonly checked: ContainerOutcome[];
  readonly steps: RunStep[];
  readonly removedImages: RunFacts['removedImages'][number][];
};

/** Listens to the events of runs, and calls `onEnd` once for each run that has ended. */
function collectRuns(onEnd: (run: CollectedRun) => void): (event: ServiceEvent) => void {
  const open = new Map<string, OpenRun>();

  function end(
    runId: string,
    end: Pick<RunFacts, 'endedAtMs' | 'error'>,
    containers?: readonly ContainerOutcome[],
  ): void {
    const run = open.get(runId);
    if (run === undefined) return;
    open.delete(runId);
    const { checked, ...facts } = run;
    onEnd({ ...facts, ...end, containers: containers ?? checked });
  }

  return (event) => {
    if (event.kind === 'scan_started') {
      const { runId, purpose, trigger, by, atMs: startedAtMs } = event;
      const origin = { runId, purpose, trigger, ...(by !== undefined && { by }), startedAtMs };
      const run = { ...origin, recipients: {}, checked: [], steps: [], removedImages: [] };
      return putNewest(open, runId, run, maxOpen);
    }
    const run = 'runId' in event ? open.get(event.runId) : undefined;
    if (run === undefined) return;
    switch (event.kind) {
      case 'containers_selected':
        // With several engines, each one publishes its own selection.
        run.recipients = { ...run.recipients, ...event.recipients };
        break;
      case 'container_checked':
        if (run.purpose === 'check') run.checked.push(...outcomeOfCheck(event));
        break;
      case 'update_started':
        run.steps.push({
          kind: 'started',
          key: entryKeyOf({ name: event.container, kind: event.entryKind }),
          atMs: event.atMs,
        });
        break;
      case 'update_completed':
      case 'update_failed':
      case 'update_deferred':
        run.steps.push({ kind: 'ended', key: entryKeyOf(event.outcome), atMs: event.atMs });
        break;
      case 'image_cleanup':
        run.removedImages.push(...event.images.map((image) => ({ ...image, atMs: event.atMs })));
        break;
      case 'scan_completed':
        end(event.runId, { endedAtMs: event.atMs, error: undefined }, event.session?.containers);
        break;
      case 'scan_failed':
        end(event.runId, { endedAtMs: event.atMs, error: event.error }, []);
        break;
      default:
        break;
    }
  };
}

/** Checks by the API run beside the one update. Runs without an end must not pile up. */
const maxOpen = 100;

/** A check changes nothing: a newer version is reported as available. */
function outcomeOfCheck(event: ServiceEvent & { kind: 'container_checked' }): ContainerOutcome[] {
  const { container: name, entryKind: kind, image, status, reason, checked } = event;
  const isNewer = status === 'stale' || status === 'held';
  if (!isNewer && status !== 'unknown') return [];
  const why = status === 'stale' ? {} : { verdict: status, ...(checked?.hold !== undefined && { hold: checked.hold }) };
  const ids = { oldImageId: '', newImageId: '', oldDigest: '', newDigest: '' };
  return [{ name, ...(kind && { kind }), image, outcome: isNewer ? 'skipped' : 'unknown', reason, ...why, ...ids }];
}
