import type { KnownRequest } from './request/request.ts';

/**
 * The variables that do not come from the image. A variable that the user set to the image's own value looks inherited
 * and changes with the image. A line without `=` unsets a variable.
 */
export function ownEnvironment({ container, oldImage }: KnownRequest): readonly string[] | undefined {
  const lines = container.settings.Config.Env ?? [];
  const present = linesByName(lines);
  const given = linesByName(oldImage.config.Env ?? []);
  const own = lines.filter((line) => !isInherited(present.get(nameOf(line)), given.get(nameOf(line))));
  return own.length === 0 ? undefined : own;
}

/** In the order of the lines. The last of several lines for one name is effective. */
export function linesByName(lines: readonly string[]): ReadonlyMap<string, readonly string[]> {
  const byName = new Map<string, readonly string[]>();
  for (const line of lines) byName.set(nameOf(line), [...(byName.get(nameOf(line)) ?? []), line]);
  return byName;
}

/**
 * All lines of a name count together: `A=2` then `A=1` differs from the image's `A=1`. An engine that adds lines puts
 * the image's first.
 */
export function isInherited(present: readonly string[] = [], given: readonly string[] = []): boolean {
  const inForce = present.join('\0');
  return given.length > 0 && (inForce === given.join('\0') || inForce === given[0]);
}

function nameOf(line: string): string {
  return line.split('=', 1)[0] ?? '';
}
