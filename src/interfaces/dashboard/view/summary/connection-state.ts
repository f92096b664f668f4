import type { EngineAway, MissingPermissions } from '../../state/documents/status.ts';
import { clock } from '../../state/words/moments.ts';
import { withNoBreakSpaces } from '../../state/words/numbers.ts';
import { capitalized, withPeriod } from '../../state/words/sentences.ts';
import type { ConnectionState } from '../../transport/connection.ts';
import { isLive, type PageContext } from '../context.ts';
import { button, byId, type Child, h, repaint, setText } from '../parts/node.ts';

/** The connection state in the top bar, and the banner above outdated data. */
export function paintConnectionState(
  context: PageContext,
  { awayWhy, hint }: { readonly awayWhy: string; readonly hint: string },
): void {
  const state = context.link();
  const live = byId('live');
  live.dataset['state'] = state;
  live.title = hint;
  setText(live, withNoBreakSpaces(linkWords[state]));
  document.body.classList.toggle('stale-data', !isLive(context));
  const banner = byId('banner');
  const error = context.engineError();
  const isOffline = state === 'offline';
  const unreachable = error === undefined ? context.enginesAway() : [];
  const missing = error === undefined ? context.fleet.status().missing : undefined;
  banner.hidden = !isOffline && error === undefined && unreachable.length === 0 && missing === undefined;
  banner.classList.toggle('bad', !isOffline && (error !== undefined || missing?.preventsUpdates === true));
  const readAt = context.readAtMs();
  repaint(banner, [isOffline, error, unreachable, missing, readAt, awayWhy], () => {
    if (isOffline) {
      const from =
        readAt === 0
          ? ''
          : ` What you see is from ${clock(readAt)}. An update that was under way goes on without this page.`;
      return [
        h('span', {}, h('strong', {}, awayWhy), from),
        context.isIntercepted()
          ? button({ class: 'text-button' }, () => location.reload(), 'Reload')
          : button({ class: 'text-button' }, context.act.tryNow, 'Try now'),
      ];
    }
    if (error === undefined)
      return [
        ...(unreachable.length === 0 ? [] : [unreachableNode(unreachable)]),
        ...(missing === undefined ? [] : [missingNode(missing)]),
      ];
    const words = withPeriod(capitalized(error));
    return [
      h(
        'span',
        {},
        h('strong', {}, words),
        ' Nothing is checked or updated until it answers. Containers go on running.',
      ),
    ];
  });
}

/** The text in the top bar; empty before the first answer. */
const linkWords: Readonly<Record<ConnectionState, string>> = {
  connecting: '',
  live: 'Live',
  polling: 'Every 10 s',
  reconnecting: 'Reconnecting',
  offline: 'Offline',
};

/** The banner about calls that a proxy before the engine forbids. */
function missingNode({ message, remedy }: MissingPermissions): Child {
  return h('span', {}, h('strong', {}, withPeriod(message)), ` ${withPeriod(remedy)}`);
}

/** The banner about unreachable engines. */
function unreachableNode(engines: readonly EngineAway[]): Child {
  const [first] = engines;
  const what =
    engines.length === 1 ? `${first?.name} cannot be reached` : `${engines.length} engines cannot be reached`;
  const why = engines.map(({ name, error }) => (engines.length === 1 ? error : `${name}: ${error}`)).join('; ');
  return h(
    'span',
    {},
    h('strong', {}, withPeriod(`${what}: ${why}`)),
    ` ${engines.length === 1 ? 'Its' : 'Their'} containers go on running; the page shows their last known state.`,
  );
}
