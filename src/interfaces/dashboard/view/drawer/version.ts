import type { Watched } from '../../state/documents/container.ts';
import { hasNewer, pullReference } from '../../state/telling/versions.ts';
import { size } from '../../state/words/numbers.ts';
import { copyButton } from '../parts/copy-button.ts';
import { icon } from '../parts/icon.ts';
import { type Child, h } from '../parts/node.ts';

/** The running version, the newer one, and the command that pulls it. */
export function versionSection(one: Watched): Child {
  const link =
    one.sourceUrl !== '' &&
    h('a', { class: 'link', href: one.sourceUrl, target: '_blank', rel: 'noreferrer noopener' }, 'Source', icon('out'));
  const isNewer = hasNewer(one);
  const newer = [
    h('b', {}, one.latestVersion || 'A newer image'),
    one.change !== undefined && h('span', { class: `badge ${one.change}` }, one.change),
    one.downloadBytes !== undefined && h('span', { class: 'sub-size word is-held' }, size(one.downloadBytes)),
  ];
  const reference = pullReference(one);
  const command = `docker pull ${reference}`;
  const shown = command.replace(/(sha256:.{12}).*/, '$1…');
  return h(
    'section',
    {},
    h('h3', {}, 'Version', link),
    line('Runs', [h('span', {}, one.version || '–')], one.digest, 'the digest'),
    isNewer && line('Available', newer, one.latestDigest, 'the new digest'),
    isNewer && one.candidate !== '' && tagLine(one),
    reference !== '' &&
      h(
        'div',
        { class: 'code' },
        h('code', { tabindex: '0', role: 'region', 'aria-label': 'Pull command' }, shown),
        copyButton(command, 'the pull command'),
      ),
  );
}

/** The tag of an update. The update does not change a compose file. */
function tagLine({ candidate, project }: Watched): HTMLElement {
  const remark = project !== '' && h('span', { class: 'sub-size word is-held' }, 'A compose file keeps its old tag');
  return line('Tag', [h('span', {}, candidate), remark], '', '');
}

function line(term: string, value: readonly Child[], digest: string, what: string): HTMLElement {
  const mono = digest !== '' && h('span', { class: 'digest mono', title: digest }, digest);
  return h(
    'div',
    { class: 'pair' },
    h('span', { class: 'term' }, term),
    h('span', { class: 'val' }, ...value, mono),
    digest === '' ? h('span') : copyButton(digest, what),
  );
}
