import type { RawSpec } from '../../../domain/swarm/swarm-service.ts';
import type { ServiceEdit } from '../../../domain/outside/swarm.ts';
import { membersAt, type Span, spanAt } from './json-spans.ts';

/**
 * Edits the text of a spec. Every byte outside the edit stays, because parsing and printing would change numbers beyond
 * 2^53. Undefined for a spec without an image, e.g. of a plugin.
 */
export function editSpec(spec: RawSpec, edit: Omit<ServiceEdit, 'credentials'>): string | undefined {
  const image = spanAt(spec, ['TaskTemplate', 'ContainerSpec', 'Image']);
  if (image === undefined) return undefined;
  return replaced(spec, [
    { span: image, text: JSON.stringify(edit.image) },
    ...labelEdits(spec, edit.labels),
    ...platformEdits(spec, edit.platforms),
  ]);
}

type Replacement = { readonly span: Span; readonly text: string };

function labelEdits(spec: string, labels: ServiceEdit['labels']): readonly Replacement[] {
  const written = Object.entries(labels).map(([key, value]) => [key, JSON.stringify(value)] as const);
  if (written.length === 0) return [];
  const asObject = `{${written.map(([key, value]) => `${JSON.stringify(key)}:${value}`).join(',')}}`;
  const present = spanAt(spec, ['Labels']);
  if (present === undefined) return [insertedFirst(spec, 0, `"Labels":${asObject}`)];
  const members = membersAt(spec, present.start);
  if (members === undefined) return [{ span: present, text: asObject }];
  const valueOf = (key: string) => members.findLast((member) => member.key === key)?.value;
  const added = written.filter(([key]) => valueOf(key) === undefined);
  const text = added.map(([key, value]) => `${JSON.stringify(key)}:${value}`).join(',');
  return [
    ...written.flatMap(([key, value]) => {
      const span = valueOf(key);
      return span === undefined ? [] : [{ span, text: value }];
    }),
    ...(added.length > 0 ? [insertedFirst(spec, present.start, text)] : []),
  ];
}

/**
 * Docker's client writes the platforms of an index when it pins an image. A spec without platforms stays without them.
 * Like the client, this names no architecture for arm, because nodes report its variant there:
 * https://github.com/moby/swarmkit/issues/2294
 */
function platformEdits(spec: string, platforms: ServiceEdit['platforms']): readonly Replacement[] {
  const span = spanAt(spec, ['TaskTemplate', 'Placement', 'Platforms']);
  if (span === undefined || platforms === undefined) return [];
  const list = platforms.map(({ os, architecture }) => ({
    ...(architecture !== 'arm' && { Architecture: architecture }),
    OS: os,
  }));
  return [{ span, text: JSON.stringify(list) }];
}

function insertedFirst(text: string, objectAt: number, member: string): Replacement {
  const at = text.indexOf('{', objectAt) + 1;
  const isEmpty = membersAt(text, objectAt)?.length === 0;
  return { span: { start: at, end: at }, text: isEmpty ? member : `${member},` };
}

function replaced(text: string, replacements: readonly Replacement[]): string {
  let result = text;
  for (const { span, text: piece } of replacements.toSorted((one, other) => other.span.start - one.span.start)) {
    result = result.slice(0, span.start) + piece + result.slice(span.end);
  }
  return result;
}
