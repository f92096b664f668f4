import type { ContainerConfig, Healthcheck, ImageConfig } from '../../src/domain/container/container-settings.ts';

/**
 * Settings of a container from its request and its image, by the rules of
 * https://docs.docker.com/reference/dockerfile/ for each instruction at run time.
 */
export function withImageDefaults(asked: ContainerConfig, image: ImageConfig): ContainerConfig {
  const program = programOf(asked, image);
  const healthcheck = healthcheckOf(asked.Healthcheck, image.Healthcheck);
  const stopSignal = asked.StopSignal || image.StopSignal;
  const ports = merged(image.ExposedPorts, asked.ExposedPorts);
  return {
    ...asked,
    ...program,
    ...(healthcheck && { Healthcheck: healthcheck }),
    ...(stopSignal && { StopSignal: stopSignal }),
    ...(ports && { ExposedPorts: ports }),
    User: asked.User || (image.User ?? ''),
    WorkingDir: asked.WorkingDir || (image.WorkingDir ?? ''),
    Env: environmentOf(asked.Env ?? [], image.Env),
    Labels: { ...image.Labels, ...asked.Labels },
    Volumes: merged(image.Volumes, asked.Volumes),
  };
}

/** An own Entrypoint also drops the image's Cmd; `[""]` drops the image's Entrypoint. */
function programOf(asked: ContainerConfig, image: ImageConfig): Pick<ContainerConfig, 'Entrypoint' | 'Cmd'> {
  const ownEntrypoint = (asked.Entrypoint?.length ?? 0) > 0;
  const ownCommand = (asked.Cmd?.length ?? 0) > 0;
  const entrypoint = ownEntrypoint ? asked.Entrypoint : (asked.Entrypoint ?? image.Entrypoint ?? null);
  const isReset = entrypoint?.length === 1 && entrypoint[0] === '';
  return {
    Entrypoint: isReset ? null : (entrypoint ?? null),
    Cmd: ownEntrypoint || ownCommand ? (asked.Cmd ?? null) : (image.Cmd ?? asked.Cmd ?? null),
  };
}

function environmentOf(
  asked: readonly string[],
  image: readonly string[] | null | undefined,
): readonly string[] | null {
  if (asked.length === 0) return image ?? null;
  const own = new Set(asked.map(variableOf));
  return [...asked, ...(image ?? []).filter((line) => !own.has(variableOf(line)))];
}

function variableOf(line: string): string {
  return line.split('=', 1)[0] ?? '';
}

function healthcheckOf(
  asked: Healthcheck | null | undefined,
  image: Healthcheck | null | undefined,
): Healthcheck | undefined {
  if (!asked) return image ?? undefined;
  if (!image) return asked;
  const inherited = Object.entries(image).filter(([field]) => isUnset(asked[field]));
  return { ...asked, ...Object.fromEntries(inherited) };
}

function isUnset(value: unknown): boolean {
  return value === undefined || value === null || value === 0 || (Array.isArray(value) && value.length === 0);
}

function merged(
  image: Readonly<Record<string, object>> | null | undefined,
  asked: Readonly<Record<string, object>> | null | undefined,
) {
  const both = { ...image, ...asked };
  return Object.keys(both).length > 0 ? both : null;
}
