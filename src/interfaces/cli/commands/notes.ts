import { printable } from '../../../domain/text/printable.ts';
import { exitCodes, type ReadCommand, type NotesView, type Sources } from '../context/context.ts';
import { printDocument, printLines, styleFor } from '../render/print.ts';
import type { Style } from '../terminal/style.ts';

/** `upkeep notes NAME`: what changes with its newer version. What breaks comes first, marked with `!`. */
export function createNotesCommand(ask: Sources['notes']): ReadCommand {
  return async ({ settings, terminal, signal }) => {
    const [container = ''] = settings.request.containers;
    const { view, document } = await ask(container, signal);
    if (settings.output.json) printDocument(terminal, document);
    else printLines(terminal.out, linesOf(view, styleFor(terminal.out, settings)));
    return exitCodes.done;
  };
}

function linesOf(notes: NotesView, style: Style): readonly string[] {
  const { container, version, latestVersion, releases, more, url } = notes;
  const versions = [version, latestVersion].filter((text) => text !== '').map((text) => printable(text, 100));
  const count = `${releases.length + more} ${releases.length + more === 1 ? 'release' : 'releases'}`;
  const head = [
    `${printable(container, 300)} ${versions.join(' → ')}`.trim(),
    ...(releases.length > 0 ? [count] : []),
    ...(url === '' ? [] : [printable(url, 500)]),
  ].join(' · ');
  if (releases.length === 0) return [head, `  ${whyNone(notes)}`];
  const told = releases.flatMap((release) => releaseLines(release, style));
  return [head, ...told, ...(more > 0 ? [`and ${more} more`] : [])];
}

function releaseLines(
  { tag, publishedAt, breaking, points }: NotesView['releases'][number],
  style: Style,
): readonly string[] {
  const day = publishedAt === '' ? '' : ` (${printable(publishedAt.slice(0, 10), 10)})`;
  const mark = breaking.length > 0 ? ` ${style.red('BREAKING')}` : '';
  const others = points.filter((point) => !breaking.some((text) => text.startsWith(point.replace(/…$/, ''))));
  const shown = others.slice(0, maxPoints);
  const rest = others.length - shown.length;
  return [
    `${printable(tag, 200)}${day}${mark}`,
    ...breaking.map((text) => `  ${style.red('!')} ${printable(text, 300)}`),
    ...shown.map(
      (text, at) => `  * ${printable(text, 300)}${rest > 0 && at === shown.length - 1 ? ` · and ${rest} more` : ''}`,
    ),
    ...(breaking.length + shown.length === 0 ? ['  (no text of its own)'] : []),
  ];
}

const maxPoints = 5;

function whyNone({ state, error }: NotesView): string {
  if (error !== '') return `The release notes cannot be read: ${printable(error, 500)}`;
  switch (state) {
    case 'none':
      return 'There are no release notes of this version';
    case 'no-source':
      return 'No repository with release notes is known; name it with the label upkeep.source';
    case 'off':
      return 'Release notes are turned off';
    default:
      return 'The release notes have not been read yet';
  }
}
