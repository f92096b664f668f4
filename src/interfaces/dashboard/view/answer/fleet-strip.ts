import { type Counts, markKinds } from '../../state/telling/count.ts';
import { svg } from '../parts/icon.ts';
import { byId, repaint } from '../parts/node.ts';

/** With more containers there are no gaps between the marks. */
const mostGaps = 120;

/** One mark for each container, in the order of the groups. */
export function paintFleet({ marks, all, wrong, ready, held, unchecked, fine }: Counts): void {
  const node = byId('fleet');
  node.hidden = all === 0;
  repaint(node, marks, () => {
    const gap = all > mostGaps ? 0 : all > mostGaps / 2 ? 0.2 : 0.08;
    const others = unchecked > 0 ? `, ${unchecked} not checked yet` : '';
    const label = `${all} containers: ${wrong} need a look, ${ready} with an update, ${held} held back${others}, ${fine} up to date`;
    const strip = svg('svg', {
      viewBox: `0 0 ${Math.max(1, all)} 1`,
      preserveAspectRatio: 'none',
      role: 'img',
      'aria-label': label,
    });
    for (const kind of markKinds) {
      const d = marks.map((mark, place) => (mark === kind ? `M${place} 0h${1 - gap}v1h-${1 - gap}z` : '')).join('');
      if (d !== '') strip.append(svg('path', { class: kind, d }));
    }
    return [strip];
  });
}
