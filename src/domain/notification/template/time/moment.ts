/** A point in time in a template: Go's `time.Time`. */
export class Moment {
  readonly unixMs: number;
  /** An IANA name, `UTC`, or minutes east of Greenwich without a name. */
  readonly zone: string | number;
  /** The IANA name that `.Local` means. */
  readonly localZone: string;
  constructor(unixMs: number, zone: string | number, localZone: string = typeof zone === 'string' ? zone : 'UTC') {
    this.unixMs = unixMs;
    this.zone = zone;
    this.localZone = localZone;
  }
}

/** Go's zero time, 1 January of the year 1. */
export const zeroUnixMs = -62_135_596_800_000;
