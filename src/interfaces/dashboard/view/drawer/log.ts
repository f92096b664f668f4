import type { Watched } from '../../state/documents/container.ts';
import { copyButton } from '../parts/copy-button.ts';
import { type Child, h } from '../parts/node.ts';

/** The last lines of a new version that failed. */
export function logSection({ hold, last, latestVersion }: Watched): Child {
  if (hold !== 'failed' || last === undefined || last.log === '') return undefined;
  const of = last.to || latestVersion || 'the new version';
  return h(
    'section',
    {},
    h('h3', {}, `Last words of ${of}`, copyButton(last.log, 'the log')),
    h('pre', { class: 'log', tabindex: '0', role: 'region', 'aria-label': `Last words of ${of}` }, last.log),
  );
}
