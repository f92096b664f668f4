/** Where versions of Docker differ in what an updater sees; 20.10 measured, 28 after its release notes. */
export type EngineProfile = {
  readonly version: string;
  readonly apiVersion: string;
  /** Since API 1.44: https://docs.docker.com/reference/api/engine/version-history/#v144-api-changes */
  readonly severalEndpointsAtCreate: boolean;
  /** Since API 1.42 the caller may choose the signal of a stop: https://docs.docker.com/reference/api/engine/version-history/#v142-api-changes */
  readonly stopTakesSignal: boolean;
  /** Until API 1.44 the short id and the host name are aliases on user networks; since then they are in `DNSNames`. */
  readonly ownNamesAreAliases: boolean;
  /** An alias on the default bridge is refused at create, not only at start. */
  readonly refusesBridgeAliasAtCreate: boolean;
  /** What is stored for a restart policy that nobody gave. */
  readonly policyNotGiven: '' | 'no';
  /** With live-restore, a running `--rm` container is deleted at boot: https://github.com/moby/moby/issues/46308 */
  readonly liveRestoreDeletesAutoRemove: boolean;
  /** With a `--rm` container that is deleted at boot go its anonymous volumes. */
  readonly bootDeletesVolumes: boolean;
  /** Fields of a create body that this version does not know are dropped without a word. */
  readonly knowsAnnotations: boolean;
};

export type EngineVersion = '20.10' | '28';

export const profiles: Readonly<Record<EngineVersion, EngineProfile>> = {
  '20.10': {
    version: '20.10.24',
    apiVersion: '1.41',
    severalEndpointsAtCreate: false,
    stopTakesSignal: false,
    ownNamesAreAliases: true,
    refusesBridgeAliasAtCreate: false,
    policyNotGiven: '',
    liveRestoreDeletesAutoRemove: true,
    bootDeletesVolumes: false,
    knowsAnnotations: false,
  },
  '28': {
    version: '28.5.2',
    apiVersion: '1.51',
    severalEndpointsAtCreate: true,
    stopTakesSignal: true,
    ownNamesAreAliases: false,
    refusesBridgeAliasAtCreate: true,
    policyNotGiven: 'no',
    liveRestoreDeletesAutoRemove: false,
    bootDeletesVolumes: true,
    knowsAnnotations: true,
  },
};
