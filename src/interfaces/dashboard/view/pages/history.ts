import { words } from '../../../../domain/text/words.ts';
import { startAddress, writeAddress } from '../../state/address.ts';
import type { PastOutcome, PastRun } from '../../state/documents/history.ts';
import { askedBy, scheduleWords } from '../../state/display/runs.ts';
import {
  clock,
  dayOf,
  when,
  withNoBreakSpaces,
  preciseDuration,
  capitalized,
  plural,
  uncapitalized,
} from '../../state/words.ts';
import { gapNodes, type PageContext } from '../context.ts';
import { icon, button, byId, h, repaint, choiceButtons, type Child } from '../parts/node.ts';
import { outcomeDisplay } from '../parts/outcome.ts';

const kinds = [
  ['all', 'All runs'],
  ['changed', 'With changes'],
  ['failed', 'With failures'],
] as const;

let kind: (typeof kinds)[number][0] = 'all';
/** Runs that are painted at first. A button shows the others. */
const page = 100;
let most = page;

/** The tab of past runs. */
export function paintHistory(context: PageContext): void {
  choiceButtons(byId('history-filter'), kinds, kind, (chosen) => {
    kind = chosen;
    most = page;
    paintHistory(context);
  });
  const runs = context.runs();
  const fitting = runs.filter((run) => fits(run));
  const shown = fitting.slice(0, most);
  const nowMs = context.nowMs();
  const isOn = context.isOn('history');
  const gap = context.gapOf('runs');
  const status = context.containers.status();
  const { nextRunAtMs } = status;
  const schedule = scheduleWords(status);
  repaint(
    byId('runs-list'),
    [shown.map(({ runId, atMs }) => [runId, atMs]), kind, new Date(nowMs).getDate(), isOn, gap, nextRunAtMs, schedule],
    () => [
      isOn && schedule !== '' && h('p', { class: 'hint' }, schedule),
      ...shown.map((run, place) =>
        runNode(run, { again: isSameDay(shown[place - 1], run), isOpen: run === runs[0], nowMs }),
      ),
      shown.length < fitting.length && moreButton(context, fitting.length - shown.length),
      shown.length === 0 &&
        (isOn && gap !== undefined
          ? h('div', { class: 'state' }, gapNodes('the history', gap))
          : noneNode(runs.length, isOn, nextRunAtMs, nowMs)),
    ],
  );
}

function fits(run: PastRun): boolean {
  if (kind === 'all') return true;
  return kind === 'failed' ? run.failed > 0 : run.updated + run.wentBack + run.failed + run.restarted > 0;
}

function isSameDay(before: PastRun | undefined, run: PastRun): boolean {
  return before !== undefined && new Date(before.atMs).toDateString() === new Date(run.atMs).toDateString();
}

function moreButton(context: PageContext, count: number): Child {
  const showAll = (): void => {
    most = Infinity;
    paintHistory(context);
  };
  return button({ class: 'button more-runs' }, showAll, `Show ${plural(count, 'older run')}`);
}

function noneNode(all: number, isOn: boolean, nextRunAtMs: number | undefined, nowMs: number): Child {
  if (!isOn) {
    const remedy = 'Add it to http-api-endpoints to see past runs here.';
    return stateNode('The history is off', `The group history is not among the endpoints of this service. ${remedy}`);
  }
  if (all > 0) return stateNode('No such run', 'None of the stored runs matches.');
  if (nextRunAtMs === undefined) return stateNode('No run yet', 'No run is scheduled.');
  return stateNode('No run yet', `The first one is due ${when(nextRunAtMs, nowMs)}.`);
}

function stateNode(title: string, text: string): Child {
  return h('div', { class: 'state' }, h('h2', {}, title), h('p', {}, text));
}

function runNode(
  run: PastRun,
  { again, isOpen, nowMs }: { readonly again: boolean; readonly isOpen: boolean; readonly nowMs: number },
): HTMLElement {
  const isStill = run.containers.length === 0;
  const summary = h(
    isStill ? 'div' : 'summary',
    { class: 'run-head' },
    icon('next', 'turn'),
    h('span', { class: `day${again ? ' again' : ''}` }, capitalized(dayOf(run.atMs, nowMs))),
    h('span', { class: 'time' }, clock(run.atMs)),
    h('span', { class: 'what' }, ...whatNodes(run)),
    h('span', { class: 'by' }, askedBy(run)),
    h('span', { class: 'took' }, run.durationMs === undefined ? '' : preciseDuration(run.durationMs)),
  );
  if (isStill) return h('div', { class: 'run still' }, summary);
  const rows = run.containers.map((outcome) => outcomeRow(outcome));
  const hidden = run.updated + run.wentBack + run.failed + run.restarted + run.skipped - run.containers.length;
  const more = hidden > 0 && h('p', { class: 'why' }, `${hidden} more are not kept here.`);
  return h('details', { class: 'run', open: isOpen }, summary, h('div', { class: 'run-rows' }, rows, more));
}

function whatNodes(run: PastRun): readonly Child[] {
  const { updated, rolledBack, wentBack, failed, restarted, skipped, scanned } = run;
  const parts = [
    part(updated, 'done', 'updated'),
    part(wentBack, 'held', 'went back'),
    part(rolledBack, 'wrong', words.outcome.rolled_back),
    part(failed - rolledBack, 'bad', 'failed'),
    part(restarted, 'held', 'restarted'),
    part(skipped, 'held', words.outcome.skipped),
  ];
  return parts.some((one) => one !== undefined) ? parts : [`Nothing new in ${plural(scanned, 'container')}`];
}

function part(count: number, tone: string, word: string): Child {
  return count > 0 ? h('span', { class: `word is-${tone}` }, `${count} ${word}`) : undefined;
}

function outcomeRow({ name, outcome, from, to, reason, downtimeMs }: PastOutcome): HTMLElement {
  const [sign, tone] = outcomeDisplay[outcome];
  const word = capitalized(words.result(outcome, { from, to }));
  const version = to === '' || from === to ? from : `${from || '?'} → ${to}`;
  return h(
    'div',
    { class: `run-row is-${tone}` },
    h('span', { class: 'c-mark' }, icon(sign)),
    h('a', { href: writeAddress({ ...startAddress, open: name }) }, name),
    h('span', { class: 'ver' }, version),
    h('span', { class: 'why' }, reason === '' ? word : withNoBreakSpaces(`${word}: ${uncapitalized(reason)}`)),
    h('span', { class: 'down' }, downtimeMs === undefined ? '' : `down ${preciseDuration(downtimeMs)}`),
  );
}
