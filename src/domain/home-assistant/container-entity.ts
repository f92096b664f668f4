/** One container in a home automation. Texts have any length. Equal versions mean that it is up to date. */
export type ContainerEntity = {
  /** Stays the same over updates, so it is never the id. */
  readonly name: string;
  /** The name of the software, such as `nginx`. */
  readonly title: string;
  /** `1.27 (01d110000000)`, or `1.27.3` if both versions have that form. Undefined: unknown. */
  readonly installedVersion: string | undefined;
  readonly latestVersion: string | undefined;
  readonly releaseUrl?: string;
  readonly releaseSummary?: string;
  readonly picture?: string;
  readonly isUpdating: boolean;
  /** Whether a button may update it. False for a container that is only monitored. */
  readonly mayInstall: boolean;
  /** Further plain data: image, digest, state, reason, project. */
  readonly attributes: Readonly<Record<string, unknown>>;
};

/** All entities at one moment. */
export type Fleet = {
  readonly containers: readonly ContainerEntity[];
  /** Unix milliseconds; undefined: not yet. */
  readonly lastCheckAtMs: number | undefined;
};
