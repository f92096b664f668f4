import { button, byId, replaceContent, h, icon, versionNodes, type Child } from './parts/node.ts';
import type { PlannedStep } from '../state/documents/status.ts';
import type { WatchedContainer } from '../state/documents/container.ts';
import { hasNewer, newVersionOf } from '../state/display/row.ts';
import {
  withNoBreakSpaces,
  preciseDuration,
  size,
  capitalized,
  joinedWords,
  plural,
  withPeriod,
  when,
  dayMs,
} from '../state/words.ts';
import { canUpdate, type PageContext, type UpdateKind } from './context.ts';

type Confirmation = {
  readonly title: string;
  readonly body: readonly Child[];
  /** Undefined: there is nothing to confirm. */
  readonly action?: { readonly label: string; readonly tone: 'primary' | 'danger'; readonly run: () => void };
  /** A second, weaker choice. */
  readonly other?: { readonly label: string; readonly run: () => void } | undefined;
};

let question = new AbortController();

/**
 * The dialog before every change of a container. The focus is on its title, so Enter alone starts nothing. The signal
 * aborts once the dialog is closed or opened for another question.
 */
function openConfirm(confirmation: Confirmation): AbortSignal {
  const dialog = byId('confirm', HTMLDialogElement);
  question.abort();
  const opened = new AbortController();
  question = opened;
  const { signal } = opened;
  // The event of an earlier closing may arrive after the dialog has opened again.
  dialog.addEventListener('close', () => !dialog.open && opened.abort(), { signal });
  paintConfirm(confirmation);
  if (!dialog.open) dialog.showModal();
  byId('confirm-title').focus();
  return signal;
}

/** Replaces the content of the open dialog. */
function paintConfirm({ title, body, action, other }: Confirmation): void {
  const dialog = byId('confirm', HTMLDialogElement);
  const finish = (run: () => void): void => {
    dialog.close();
    run();
  };
  const known = document.getElementById('confirm-title');
  const heading = known ?? h('h2', { id: 'confirm-title', tabindex: '-1' });
  heading.textContent = title;
  const cancel = button(
    { class: 'button' },
    () => dialog.close(),
    (action ?? other) === undefined ? 'Close' : 'Cancel',
  );
  const main = h('div', { class: 'dialog-body' });
  const hadFocus = dialog.contains(document.activeElement);
  replaceContent(
    dialog,
    main,
    h(
      'div',
      { class: 'dialog-actions' },
      cancel,
      other && button({ class: 'button' }, () => finish(other.run), other.label),
      action && button({ class: `button ${action.tone}` }, () => finish(action.run), action.label),
    ),
  );
  replaceContent(main, heading, ...body);
  if (hadFocus) heading.focus();
}

function intro(text: string): HTMLElement {
  return h('p', { class: 'intro' }, text);
}

/** The dialog before a token is revoked. */
export function confirmRevoke(name: string, revoke: () => void): void {
  openConfirm({
    title: `Revoke the token of ${name}?`,
    body: [intro('Programs that use it are refused from now on, although its file still has it.')],
    action: { label: 'Revoke', tone: 'danger', run: revoke },
  });
}

export function isConfirmOpen(): boolean {
  return byId('confirm', HTMLDialogElement).open;
}

/** Without a plan, the service did not answer with one, so an update may have begun. */
export type PlanAnswer = { readonly plan: readonly PlannedStep[] | undefined } | { readonly why: string };

/** Asks for a plan until the signal aborts. */
type AskForPlan = (over: AbortSignal) => Promise<PlanAnswer>;

/** The dialog with a plan. Its title replaces the first one if the plan is about another version. */
type PlanConfirmation = Omit<Confirmation, 'title'> & Partial<Pick<Confirmation, 'title'>>;

/** Shows the dialog while the plan is worked out, and then with the content that `shown` makes of the answer. */
async function confirmPlan(
  title: string,
  ask: AskForPlan,
  shown: (answer: PlanAnswer) => PlanConfirmation,
): Promise<void> {
  const over = openConfirm({ title, body: [intro('Working out the plan…')] });
  const answer = await ask(over);
  if (!over.aborted) paintConfirm({ title, ...shown(answer) });
}

/** The plan of an update as ordered steps, and the guarantee. */
function planNodes(context: PageContext, plan: readonly PlannedStep[]): readonly Child[] {
  const updates = plan.filter(({ action }) => action === 'update');
  const restarts = plan.filter(({ action }) => action === 'restart');
  const skipped = plan.filter(({ action }) => action === 'skip');
  const bytes = updates.reduce((sum, { name }) => sum + (context.containers.named(name)?.downloadBytes ?? 0), 0);
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
      updates.map((one) =>
        step(one.name, versions(context, one), [capitalized(how(context, one, updates)), dataWords(context, one)]),
      ),
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
function nothingNodes(plan: readonly PlannedStep[]): readonly Child[] {
  const none = intro('Nothing to do: no newer image may be applied now.');
  return plan.length === 0 ? [none] : [none, leftOut(plan)];
}

/** A line of the plan. */
function step(who: string, to: readonly Child[], how: string | readonly string[]): HTMLElement {
  const lines = [how].flat().filter(Boolean);
  return h(
    'li',
    {},
    h('span', { class: 'who' }, who),
    h('span', { class: 'to' }, ...to),
    lines.map((line) => h('span', { class: 'how' }, line)),
  );
}

/** The guarantee below a plan. */
function guarantee(sign: string, text: string): HTMLElement {
  return h('p', { class: 'promise' }, icon(sign), h('span', {}, text));
}

function versions({ containers }: PageContext, { name, from, to }: PlannedStep): readonly Child[] {
  const one = containers.named(name);
  if (one === undefined) return [from, to !== '' && ' → ', to];
  const shown: WatchedContainer = { ...one, version: from || one.version, latestVersion: to || one.latestVersion };
  return hasNewer(shown)
    ? versionNodes(shown)
    : [h('span', {}, from || '–'), to !== '' && to !== from && h('span', {}, `→ ${to}`)];
}

function how({ containers }: PageContext, { name, dependsOn }: PlannedStep, updates: readonly PlannedStep[]): string {
  const one = containers.named(name);
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

/** The data are measured before the stop. Until then the last copy shows how large they are. */
function dataWords({ containers }: PageContext, { name, data }: PlannedStep): string {
  if (data === undefined) return '';
  const bytes = containers.named(name)?.last?.dataBytes;
  const amount = bytes === undefined ? '' : ` (${size(bytes)} last time)`;
  const saved =
    data.saved.length === 0 ? 'None of its data is copied' : `Its data is copied: ${joinedWords(data.saved)}${amount}`;
  return data.notSaved.length === 0 ? saved : `${saved}; not ${joinedWords(data.notSaved)}`;
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

/** Shows the steps of an update before it begins. */
export function confirmUpdate(
  context: PageContext,
  {
    names,
    kind,
    ask,
    start,
  }: {
    readonly names: readonly string[];
    readonly kind: UpdateKind;
    /** The result of the dry run. */
    readonly ask: AskForPlan;
    readonly start: () => void;
  },
): void {
  const [first = ''] = names;
  const failed = kind === 'retry' ? (context.containers.named(first)?.latestVersion ?? '') : '';
  void confirmPlan(titleOf(names, kind, failed), ask, (answer) => {
    if ('why' in answer) return { body: [intro(withPeriod(capitalized(answer.why)))] };
    const { plan } = answer;
    if (plan === undefined) {
      const unclear = 'Upkeep did not answer with a plan. Look at the containers before you try again.';
      return { body: [intro(unclear)] };
    }
    const count = plan.filter(({ action }) => action === 'update').length;
    if (plan.every(({ action }) => action === 'skip')) return { body: nothingNodes(plan) };
    const body = planNodes(context, plan);
    const other = plan.find(({ name, action, to }) => name === first && action === 'update' && to !== failed)?.to ?? '';
    if (kind === 'retry' && other !== '') {
      // A newer version than the one that failed has come meanwhile.
      const action = { label: 'Update', tone: 'primary', run: start } as const;
      return { title: `Update ${first} to ${other}?`, body, action };
    }
    const label = kind === 'retry' ? 'Try again' : count <= 1 ? 'Update' : `Update ${count}`;
    return { body, action: { label, tone: 'primary', run: start } };
  });
}

function titleOf(names: readonly string[], kind: UpdateKind, failed: string): string {
  const [first = ''] = names;
  if (names.length !== 1) return `Update ${names.length} containers?`;
  if (kind === 'update') return `Update ${first}?`;
  if (kind === 'now') return `Update ${first} now?`;
  return failed === '' ? `Try the update of ${first} again?` : `Try ${failed} of ${first} again?`;
}

/** Explains what a manual rollback restores and what it does not. */
export function confirmRollBack(one: WatchedContainer, start: () => void): void {
  const isForward = one.hold === 'went-back';
  const isKnown = one.last?.outcome === 'updated' || (isForward && one.last?.outcome === 'went_back');
  const from = (isKnown && one.last?.to) || one.version || 'This version';
  const to = (isKnown && one.last?.from) || (isForward && one.latestVersion) || 'the version before';
  openConfirm({
    title: isForward ? `Go forward again with ${one.name}?` : `Roll back ${one.name}?`,
    body: [
      intro(
        isForward
          ? `It went back to ${from} before, so this goes forward again, to ${to}. This is what happens, in this order.`
          : `From ${from} to ${to}. This is what happens, in this order.`,
      ),
      h(
        'ol',
        { class: 'plan' },
        step(`Stop ${from}`, [], 'Volumes are not touched'),
        step(
          `Start ${to}`,
          [],
          'The original container if it was kept (--keep-old); otherwise a new one from the old image',
        ),
      ),
      guarantee(
        'unknown',
        `What ${from} has changed in its data stays changed. ${from} is not applied again on its own.`,
      ),
    ],
    action: { label: isForward ? 'Go forward' : 'Roll back', tone: 'danger', run: start },
  });
}

/**
 * Asks what becomes of the data, if that is why the service has refused a rollback: it keeps a copy of them. False for
 * any other reason.
 */
export function askAboutData(name: string, why: string, start: (data: 'restore' | 'leave') => void): boolean {
  const [, at = '', bytes = ''] = /a copy of (\S+) is kept \((.+?)\).*data=restore/.exec(why) ?? [];
  const takenAtMs = Date.parse(at);
  if (Number.isNaN(takenAtMs)) return false;
  const taken = when(takenAtMs, Date.now());
  openConfirm({
    title: `The data of ${name}`,
    body: [
      intro(`A copy of its data from ${taken} is kept (${bytes}). Both answers lose something.`),
      h(
        'ol',
        { class: 'plan' },
        step('Put the data back', [], `Everything that was written since ${taken} is lost`),
        step('Leave the data', [], 'They stay as they are, and the old version may not be able to read them'),
      ),
    ],
    other: { label: 'Leave the data', run: () => start('leave') },
    action: { label: 'Put the data back', tone: 'danger', run: () => start('restore') },
  });
  return true;
}

type ApprovalDialog = {
  readonly one: WatchedContainer;
  /** The result of a dry run with the approval. Undefined if updates cannot be started here. */
  readonly plan: AskForPlan | undefined;
  readonly approve: () => void;
  readonly approveAndUpdate: () => void;
};

/** Asks for the approval of one version, with the plan of the resulting update. */
export function confirmApproval(context: PageContext, { one, plan, approve, approveAndUpdate }: ApprovalDialog): void {
  const title = `Approve ${newVersionOf(one)} of ${one.name}?`;
  const only = { label: 'Approve', tone: 'primary', run: approve } as const;
  const later = () => intro(laterWords(context));
  if (plan === undefined) {
    const versions = h('p', { class: 'versions' }, ...versionNodes(one));
    openConfirm({ title, body: [versions, later()], action: only });
    return;
  }
  void confirmPlan(title, plan, (answer) => {
    if ('why' in answer) return { body: [intro(withPeriod(capitalized(answer.why)))], action: only };
    const steps = answer.plan ?? [];
    if (steps.every(({ action }) => action === 'skip'))
      return { body: [...nothingNodes(steps), later()], action: only };
    return {
      body: planNodes(context, steps),
      other: { label: 'At the next run', run: approve },
      ...(canUpdate(context) && { action: { label: 'Approve and update', tone: 'primary', run: approveAndUpdate } }),
    };
  });
}

function laterWords(context: PageContext): string {
  const { nextRunAtMs } = context.containers.status();
  const run = nextRunAtMs === undefined ? 'the next run' : `the next run, ${when(nextRunAtMs, context.nowMs())},`;
  return `Once it is approved, ${run} applies it where nothing else holds it back. The approval is for this version alone.`;
}

const choices = [1, 3, 7, 30];
const usual = 7;

/** Asks how long a version must be held back. */
export function chooseSnooze(one: WatchedContainer, nowMs: number, snooze: (untilMs: number) => void): void {
  let days = usual;
  const rows = choices.map((count) => {
    const box = h('input', { type: 'radio', name: 'snooze', value: String(count), checked: count === usual });
    box.addEventListener('change', () => {
      days = count;
    });
    const until = h('span', { class: 'until' }, `until ${when(nowMs + count * dayMs, nowMs)}`);
    return h('label', { class: 'choice' }, box, h('span', {}, plural(count, 'day')), until);
  });
  openConfirm({
    title: `Snooze ${newVersionOf(one)} of ${one.name}?`,
    body: [
      intro('It is held back until then. A newer version is offered at once.'),
      h('fieldset', { class: 'choices' }, h('legend', { class: 'sr' }, 'How long'), rows),
    ],
    action: { label: 'Snooze', tone: 'primary', run: () => snooze(nowMs + days * dayMs) },
  });
}
