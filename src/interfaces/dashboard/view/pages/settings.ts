import type { ShownOption } from '../../state/documents/status.ts';
import type { Gap } from '../../transport/reader.ts';
import { gapNodes, type PageContext } from '../context.ts';
import { byId, h, repaint, choiceButtons, type Child } from '../parts/node.ts';

let kind: 'given' | 'all' = 'given';

/** Groups of the API, and the parts of the page that need them. */
const groups = [
  ['containers', 'The containers of this page'],
  ['metrics', 'Last and next run, and the run under way'],
  ['history', 'Past runs'],
  ['config', 'The options above'],
  ['events', 'Live updates; without it this page asks every 10 s'],
  ['check', 'The button Check'],
  ['update', 'The buttons Update, Try again and Roll back'],
  ['decisions', 'The buttons Approve, Skip and Snooze'],
] as const;

/** The settings tab: effective values, their sources, and the groups available to this page. */
export function paintSettings(context: PageContext): void {
  const options = context.options();
  const chosen = options.filter(({ given }) => given);
  const choices = [
    ['given', `Set by you ${chosen.length}`],
    ['all', `All ${options.length}`],
  ] as const;
  const isOn = context.isOn('config');
  const gap = context.gapOf('options');
  byId('settings-filter').hidden = !isOn || gap !== undefined;
  choiceButtons(byId('settings-filter'), choices, kind, (picked) => {
    kind = picked;
    paintSettings(context);
  });
  const shown = kind === 'given' ? chosen : options;
  const table = byId('options', HTMLTableElement);
  table.hidden = !isOn || shown.length === 0;
  table.classList.toggle(
    'without-meaning',
    options.every(({ meaning }) => meaning === ''),
  );
  const [body] = table.tBodies;
  if (body !== undefined) repaint(body, shown, () => shown.map(optionRow));
  repaint(byId('settings-state'), [isOn, gap, shown.length], () => stateNodes(isOn, gap, shown.length));
  const served = groups.map(([name]) => context.isOn(name));
  repaint(byId('groups'), served, () => groups.map(([name, meaning]) => groupRow(name, meaning, context.isOn(name))));
}

function optionRow(option: ShownOption): HTMLElement {
  const { name, value, source, given, meaning } = option;
  return h(
    'tr',
    { class: given && 'given' },
    h('td', { class: 'name' }, name),
    h('td', { class: 'meaning' }, meaning),
    h('td', { class: 'value mono' }, value === '' ? '–' : value),
    h('td', { class: 'from' }, source === 'default' ? source : h('code', {}, source)),
  );
}

function stateNodes(isOn: boolean, gap: Gap | undefined, count: number): readonly Child[] {
  if (!isOn)
    return [
      h('h2', {}, 'The options are not shown'),
      h(
        'p',
        {},
        'The group config is not among the endpoints of this service. Add it to http-api-endpoints to see the options here.',
      ),
    ];
  if (gap !== undefined) return gapNodes('the options', gap);
  return count > 0
    ? []
    : [h('h2', {}, 'All options have their defaults'), h('p', {}, 'No option was given: all have their default.')];
}

function groupRow(name: string, meaning: string, isOn: boolean): Child {
  const state = isOn ? 'on' : 'off';
  const remedy = isOn ? '' : `Add ${name} to http-api-endpoints`;
  return h(
    'tr',
    { class: isOn && 'given' },
    h('td', { class: 'name' }, name),
    h('td', { class: 'meaning' }, meaning),
    h('td', { class: 'value' }, state),
    h('td', { class: 'from' }, remedy),
  );
}
