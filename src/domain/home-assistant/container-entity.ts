/** One container as a home automation shows it. Texts are of any length; versions that are equal mean that it is up to date. */
export type ContainerEntity = {
  /** Stays the same over updates, so never the id. */
  readonly name: string;
  /** Of the software, such as `nginx`. */
  readonly title: string;
  /** `1.27 (01d110000000)`, or plain `1.27.3` where both versions are such; undefined: unknown. */
  readonly installedVersion: string | undefined;
  readonly latestVersion: string | undefined;
  readonly releaseUrl?: string;
  readonly releaseSummary?: string;
  readonly picture?: string;
  readonly isUpdating: boolean;
  /** Whether a button may have it updated: not one that is monitored only. */
  readonly mayInstall: boolean;
  /** Plain data for who looks closer: image, digest, state, reason, project. */
  readonly attributes: Readonly<Record<string, unknown>>;
};

/** Everything that is shown at one moment. */
export type Fleet = {
  readonly containers: readonly ContainerEntity[];
  /** Unix milliseconds; undefined: not yet. */
  readonly lastCheckAtMs: number | undefined;
};
