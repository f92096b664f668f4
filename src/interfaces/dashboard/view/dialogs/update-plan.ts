import type { PlannedStep } from '../../state/documents/plan.ts';
import type { WatchedContainer } from '../../state/documents/container.ts';
import { hasNewer } from '../../state/telling/versions.ts';
import { withNoBreakSpaces, preciseDuration, size } from '../../state/words/numbers.ts';
import { capitalized, joinedWords, plural } from '../../state/words/sentences.ts';
import type { PageContext } from '../context.ts';
import { icon } from '../parts/icon.ts';
import { type Child, h } from '../parts/node.ts';
import { versionNodes } from '../parts/version.ts';
import { type Confirmation, intro, openConfirm, paintConfirm } from './confirm.ts';

/** Without a plan, the service did not answer with one, so an update may have begun. */
export type PlanAnswer = { readonly plan: readonly PlannedStep[] | undefined } | { readonly why: string };

/** Asks for a plan until the signal aborts. */
export type AskForPlan = (over: AbortSignal) => Promise<PlanAnswer>;

/** The dialog with a plan. Its title replaces the first one if the plan is about another version. */
export type PlanConfirmation = Omit<Confirmation, 'title'> & Partial<Pick<Confirmation, 'title'>>;

/** Shows the dialog while the plan is worked out, and then with the content that `shown` makes of the answer. */
export async function confirmPlan(
  title: string,
  ask: AskForPlan,
  shown: (answer: PlanAnswer) => PlanConfirmation,
): Promise<void> {
  const over = openConfirm({ title, body: [intro('Working out the plan…')] });
  const answer = await ask(over);
  if (!over.aborted) paintConfirm({ title, ...shown(answer) });
}

/** The plan of an update as ordered steps, and the guarantee. */
export function planNodes(context: PageContext, plan: readonly PlannedStep[]): readonly Child[] {
  const updates = plan.filter(({ action }) => action === 'update');
  const restarts = plan.filter(({ action }) => action === 'restart');
  const skipped = plan.filter(({ action }) => action === 'skip');
  const bytes = updates.reduce((sum, { name }) => sum + (context.fleet.named(name)?.downloadBytes ?? 0), 0);
  return [
    intro(
      `${updates.length === 1 ? 'It' : 'Each'} is stopped for a few seconds, and its health is checked before the old container is removed.`,
    ),
    h(
      'ol',
      { class: 'plan' },
      updates.length > 0 &&
        step(
          `Pull ${plural(updates.length, 'image')}`,
          bytes === 0 ? [] : [`about ${size(bytes)}`],
          'Everything keeps running meanwhile',
        ),
      updates.map((one) => step(one.name, versions(context, one), capitalized(how(context, one, updates)))),
      restarts.map((one) => step(one.name, [h('span', { class: 'word is-held' }, 'restart')], restartWords(one))),
    ),
    skipped.length > 0 && leftOut(skipped),
    guarantee(
      'back',
      'A new version that does not start or does not become healthy is rolled back: the old container is kept until then, and comes back.',
    ),
  ];
}

/** Shown in place of a plan without work. */
export function nothingNodes(plan: readonly PlannedStep[]): readonly Child[] {
  const none = intro('Nothing is to be done: no newer image may be applied now.');
  return plan.length === 0 ? [none] : [none, leftOut(plan)];
}

/** A line of the plan. */
export function step(who: string, to: readonly Child[], how: string): HTMLElement {
  return h(
    'li',
    {},
    h('span', { class: 'who' }, who),
    h('span', { class: 'to' }, ...to),
    how !== '' && h('span', { class: 'how' }, how),
  );
}

/** The guarantee below a plan. */
export function guarantee(sign: string, text: string): HTMLElement {
  return h('p', { class: 'promise' }, icon(sign), h('span', {}, text));
}

function versions({ fleet }: PageContext, { name, from, to }: PlannedStep): readonly Child[] {
  const one = fleet.named(name);
  if (one === undefined) return [from, to !== '' && ' → ', to];
  const shown: WatchedContainer = { ...one, version: from || one.version, latestVersion: to || one.latestVersion };
  return hasNewer(shown)
    ? versionNodes(shown)
    : [h('span', {}, from || '–'), to !== '' && to !== from && h('span', {}, `→ ${to}`)];
}

function how({ fleet }: PageContext, { name, dependsOn }: PlannedStep, updates: readonly PlannedStep[]): string {
  const one = fleet.named(name);
  const before = (dependsOn.length > 0 ? dependsOn : (one?.dependsOn ?? [])).filter((other) =>
    updates.some((each) => each.name === other),
  );
  const watched = one?.settings.find((setting) => setting.name === 'health-window')?.value;
  const last = one?.last?.downtimeMs;
  return [
    last === undefined ? '' : `down ${preciseDuration(last)} last time`,
    watched === undefined ? '' : `watched for ${withNoBreakSpaces(watched.replaceAll(/(?<=\d)(?=[a-z])/g, ' '))}`,
    before.length > 0 ? `after ${joinedWords(before)}` : '',
  ]
    .filter(Boolean)
    .join(', ');
}

function restartWords({ because, reason }: PlannedStep): string {
  const why = reason || because;
  return why === '' ? 'It depends on a container that is replaced' : capitalized(why);
}

function leftOut(skipped: readonly PlannedStep[]): HTMLElement {
  const lines = skipped.map(({ name, reason }) =>
    h('li', {}, h('b', {}, name), reason === '' ? ' stays as it is' : ` ${reason}`),
  );
  return h(
    'details',
    { class: 'left-out', open: skipped.length <= 3 },
    h('summary', {}, `${plural(skipped.length, 'container')} left alone`),
    h('ul', {}, lines),
  );
}
