import type { Container } from '../../container.ts';
import type { MountPoint } from '../../container-settings.ts';

/** A volume that the engine made because the image (`VOLUME`) or the user (`-v /path`) gave a path without a volume. */
export type AnonymousVolume = {
  readonly path: string;
  /** Undefined when the engine does not show it. */
  readonly volume: string | undefined;
  readonly readOnly: boolean;
};

/**
 * Anonymous volumes of the container by path. No setting names them, so a plain successor would get new, empty ones. A
 * volume from `--volumes-from` comes back by that setting. If both are possible, the volume counts as the container's
 * own, so that it is kept.
 */
export function anonymousVolumes({ settings }: Container): readonly AnonymousVolume[] {
  const { Config, HostConfig, Mounts } = settings;
  const configured = new Set([
    ...(HostConfig.Mounts ?? []).map(({ Target }) => cleanPath(String(Target))),
    ...(HostConfig.Binds ?? []).map((bind) => cleanPath(bindTarget(bind))),
  ]);
  const declared = new Set(Object.keys(Config.Volumes ?? {}).map(cleanPath));
  const fromOthers = (HostConfig.VolumesFrom ?? []).length > 0;
  return Mounts.filter(({ Type, Destination }) => {
    const path = cleanPath(Destination);
    return Type === 'volume' && !configured.has(path) && (declared.has(path) || !fromOthers);
  })
    .map((mount) => ({ path: mount.Destination, volume: volumeName(mount), readOnly: mount.RW === false }))
    .sort((a, b) => (a.path < b.path ? -1 : 1));
}

/** The volume mounted at a path. Undefined when there is none, or the engine does not show it. */
export function volumeAt({ settings }: Container, path: string): string | undefined {
  const mount = settings.Mounts.find(
    ({ Type, Destination }) => Type === 'volume' && cleanPath(Destination) === cleanPath(path),
  );
  return mount && volumeName(mount);
}

/** `source:target:mode`. A single path is the target of an anonymous volume. */
export function bindTarget(bind: string): string {
  const [first = '', second] = bind.split(':');
  return second ?? first;
}

/** `/data`, also for `/data/` and `//data/.`: https://pkg.go.dev/path#Clean */
export function cleanPath(path: string): string {
  const parts: string[] = [];
  for (const part of path.split('/')) {
    if (part === '..') parts.pop();
    else if (part !== '' && part !== '.') parts.push(part);
  }
  return `/${parts.join('/')}`;
}

/**
 * Docker 28 does not show the name of an anonymous volume without a source in `Binds`; its folder contains the name.
 */
function volumeName({ Name, Source }: MountPoint): string | undefined {
  return Name || /\/([0-9a-f]{64})\/_data$/.exec(Source ?? '')?.[1];
}
